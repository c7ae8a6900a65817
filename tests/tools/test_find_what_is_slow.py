"""Runs the commands of docs/how-to/find-what-is-slow.md."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.tutorial import document

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/find-what-is-slow.md"


def test_the_page(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    programs = (Path(sys.executable).parent, request.config.getoption("--bin-dir"))
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    headings = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    assert len(headings) == 6
    for heading in headings:
        document.run(PAGE, heading, tmp_path, {**os.environ, "PATH": path})
    assert (tmp_path / "slow.html").stat().st_size > 10_000
