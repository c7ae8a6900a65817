"""spirloom-run --peaks: the measured figures and their cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.tools.programs import Program

SPEEDS = ("write", "read", "copy", "cached_read", "shared_read", "multiply_add")


def measured(program: Program, directory: Path, *flags: str) -> dict[str, Any]:
    """The object that --json writes; the cache is below `directory`."""
    out = directory / "peaks.json"
    done = program("--peaks", "--cache-dir", directory / "cache", "--json", out, *flags)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(out.read_text())
    assert found["device"] in done.stdout
    return found


def test_speeds_are_measured_once(spirloom_run: Program, tmp_path: Path) -> None:
    found = measured(spirloom_run, tmp_path, "--validation")
    assert all(found[name] > 0 for name in SPEEDS), found
    assert found["tensor_bytes"] >= 1 << 20
    assert measured(spirloom_run, tmp_path) == found
    assert measured(spirloom_run, tmp_path, "--remeasure") != found


def test_damaged_file_is_ignored(spirloom_run: Program, tmp_path: Path) -> None:
    found = measured(spirloom_run, tmp_path)
    (kept,) = (tmp_path / "cache").glob("peaks-*.bin")
    kept.write_bytes(kept.read_bytes()[:-1] + b"?")
    assert measured(spirloom_run, tmp_path) != found


def test_measuring_again_requires_peaks(spirloom_run: Program) -> None:
    done = spirloom_run("net.slg", "--remeasure")
    assert done.returncode == 2
    assert "--peaks" in done.stderr
