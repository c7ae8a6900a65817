"""Runs the examples of docs/how-to/run-from-python.md."""

from __future__ import annotations

import doctest
import shutil
from pathlib import Path

import pytest
import spirloom
from spirloom.cli import main
from spirloom.errors import Status
from spirloom.runtime import errors

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/how-to/run-from-python.md"
DIGITS = ROOT / "examples/digits"


def test_the_page(
    runtime: spirloom.Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("images.npy", "labels.npy"):
        shutil.copy(DIGITS / name, tmp_path)
    options = ["-o", "digits.slg", "--dim", "batch=1..450"]
    assert main(["import", str(DIGITS / "digits.onnx"), *options]) == 0
    flags = doctest.ELLIPSIS
    done = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags, encoding="utf-8")
    assert done.attempted > 20
    assert done.failed == 0


def test_the_table_of_errors_is_complete() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [s.name for s in Status if s is not Status.OK and f"`{s.name}`" not in text] == []
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, spirloom.SpirloomError)
    ]
    named = [kind for kind in kinds if kind is not spirloom.SpirloomError]
    assert len(named) > 9
    assert [kind.__name__ for kind in named if f"`{kind.__name__}`" not in text] == []
