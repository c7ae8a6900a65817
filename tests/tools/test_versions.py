"""cmake/SpirloomVersions.cmake: dependencies that are too old, and newer than tested ones."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "cmake/dependencies.csv"
ROWS = {row["dependency"]: row for row in csv.DictReader(TABLE.open(encoding="utf-8"))}


def checked(directory: Path, name: str, version: str) -> subprocess.CompletedProcess[str]:
    """Runs the check in a script."""
    script = directory / "check.cmake"
    script.write_text(
        "cmake_policy(VERSION 3.25)\nset(PROJECT_IS_TOP_LEVEL TRUE)\n"
        f'include("{ROOT}/cmake/SpirloomVersions.cmake")\n'
        f'spirloom_check_version("{name}" "{version}")\n',
        encoding="utf-8",
    )
    return subprocess.run(["cmake", "-P", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ROWS)
def test_tested_versions_are_accepted(name: str, tmp_path: Path) -> None:
    for key in ("oldest tested", "newest tested"):
        done = checked(tmp_path, name, ROWS[name][key])
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_older_version_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    done = checked(tmp_path, "glslang", "11.9.0")
    assert done.returncode != 0
    message = " ".join(done.stderr.split())
    assert "glslang 11.9.0 was found; 12.0.0 or newer is required (tested up to" in message
    assert "apt-get install glslang-dev glslang-tools" in message


@pytest.mark.parametrize("version", ["12.0.0", "12.2.0", "14.2.1", "12-posix"])
def test_as_many_parts_as_in_the_table_are_compared(version: str, tmp_path: Path) -> None:
    done = checked(tmp_path, "GCC", version)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_newer_version_is_reported(tmp_path: Path) -> None:
    done = checked(tmp_path, "CLI11", "99.0")
    assert done.returncode == 0
    assert "CLI11 99.0 is newer than the newest tested version, " in done.stdout


def test_an_unknown_version_is_accepted(tmp_path: Path) -> None:
    assert checked(tmp_path, "SPIRV-Tools", "").returncode == 0


def test_a_dependency_without_a_row_is_an_error(tmp_path: Path) -> None:
    assert "has no row of 'zlib'" in " ".join(checked(tmp_path, "zlib", "1").stderr.split())
