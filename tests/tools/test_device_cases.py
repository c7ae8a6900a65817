"""`./dev bundle --cases`: operator cases on a machine with only Python and a device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.device_cases.__main__ import make_bundle


def run(directory: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, directory / "check.py", "--out", directory.parent / "out.json",
         *arguments],
        capture_output=True, text=True, check=False, cwd="/", env=dict(os.environ, **environment),
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def build(request: pytest.FixtureRequest) -> Path:
    return Path(request.config.getoption("--bin-dir")).parent


def test_cases_run_until_they_pass(build: Path, tmp_path: Path) -> None:
    """Time limit, missing device, successful run, nothing left to run."""
    directory = tmp_path / "cases"
    assert make_bundle(build, directory, 1, 1, ["relu", "ne?"]) == 2
    code, printed = run(directory, "--minutes", "1e-9")
    assert code == 3
    assert "2 operators remain" in printed
    code, printed = run(directory, "--device", "Nothing of this name", "--ops", "ne?")
    assert code == 1
    assert "neg: 0 passed, 1 FAILED" in printed
    assert "Nothing of this name" in printed
    code, printed = run(directory)
    assert code == 0, printed
    found = json.loads((directory.parent / "out.json").read_text())
    assert found.keys() == {"relu", "neg"}
    assert all(each["passed"] > 10 and not each["failed"] for each in found.values())
    code, printed = run(directory)
    assert code == 0
    assert "to go" not in printed
    code, printed = run(directory, "--ops", "relo")
    assert code == 2
    assert "no operator matches relo" in printed


def test_parts_contain_each_case_once(build: Path, tmp_path: Path) -> None:
    names: list[str] = []
    for part in (1, 2):
        make_bundle(build, tmp_path / str(part), part, 2, ["add*"])
        names += [path.name for path in (tmp_path / str(part) / "cases").iterdir()]
    assert len(names) == len(set(names)) > 4
