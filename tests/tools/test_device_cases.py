"""`./dev bundle --cases`: what runs the operators' cases where only Python and a device are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.device_cases.__main__ import make_bundle


def run(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, folder / "check.py", "--out", folder.parent / "out.json", *arguments],
        capture_output=True, text=True, check=False, cwd="/", env=dict(os.environ, **environment),
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def build(request: pytest.FixtureRequest) -> Path:
    return Path(request.config.getoption("--bin-dir")).parent


def test_cases_run_until_they_are_right(build: Path, tmp_path: Path) -> None:
    """Out of time, then on a device that is not there, then on one that is, then not again."""
    folder = tmp_path / "cases"
    assert make_bundle(build, folder, 1, 1, ["relu", "ne?"]) == 2
    code, printed = run(folder, "--minutes", "1e-9")
    assert code == 3
    assert "2 operators are left" in printed
    code, printed = run(folder, "--device", "Nothing of this name", "--ops", "ne?")
    assert code == 1
    assert "neg: 0 passed, 1 FAILED" in printed
    assert "Nothing of this name" in printed
    code, printed = run(folder)
    assert code == 0, printed
    found = json.loads((folder.parent / "out.json").read_text())
    assert found.keys() == {"relu", "neg"}
    assert all(each["passed"] > 10 and not each["failed"] for each in found.values())
    code, printed = run(folder)
    assert code == 0
    assert "to go" not in printed
    code, printed = run(folder, "--ops", "relo")
    assert code == 2
    assert "no operator here is named relo" in printed


def test_parts_have_all_cases_once(build: Path, tmp_path: Path) -> None:
    names: list[str] = []
    for part in (1, 2):
        make_bundle(build, tmp_path / str(part), part, 2, ["add*"])
        names += [path.name for path in (tmp_path / str(part) / "cases").iterdir()]
    assert len(names) == len(set(names)) > 4
