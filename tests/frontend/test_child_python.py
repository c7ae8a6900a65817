"""Child processes of Python import nothing of the current directory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from spirloom import child_python

ROOT = Path(__file__).resolve().parents[2]
PLANTED = ("onnx", "numpy", "argparse", "json", "spirloom", "google", "typing_extensions")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with modules that create the file EXECUTED."""
    for name in PLANTED:
        code = f"open({str(tmp_path / 'EXECUTED')!r}, 'w').write({name!r})\n"
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(planted: Path) -> None:
    executed = planted / "EXECUTED"
    assert not executed.exists(), f"{executed.read_text()}.py was executed"


@pytest.mark.parametrize("path", [None, "", ".", f"{os.pathsep}.", f"/nonexistent{os.pathsep}"])
def test_modules_of_the_current_directory_are_not_imported(
    planted: Path, monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    if path is not None:
        monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setenv("PYTHONSTARTUP", "json.py")
    monkeypatch.setenv("PYTHONINSPECT", "1")
    done = child_python.run(
        "-c", "import argparse, json", stdin=subprocess.DEVNULL, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    check(planted)


def test_absolute_paths_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"/one{os.pathsep}two{os.pathsep}{os.pathsep}/three")
    assert child_python.environment()["PYTHONPATH"] == f"/one{os.pathsep}/three"


def test_an_import_executes_no_code_of_the_models_folder(planted: Path) -> None:
    """The shapes of the graph contradict each other, so that ONNX's inference runs."""
    sizes = (("x", [2, 3]), ("y", [2, 4]))
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in sizes)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), "m.onnx")
    script = "import sys; from spirloom.cli import main; sys.exit(main(sys.argv[1:]))"
    for arguments in (["import", "m.onnx", "-o", "m.slg"], ["partition", "m.onnx"]):
        subprocess.run(
            [sys.executable, "-P", "-c", script, *arguments], capture_output=True, check=False
        )
        check(planted)


def test_one_place_starts_python() -> None:
    """Elsewhere sys.executable occurs in messages only."""
    package = ROOT / "frontend/spirloom"
    if not package.is_dir():
        pytest.skip("the tests run without the repository")
    for file in package.rglob("*.py"):
        if file.name != "child_python.py":
            for line in file.read_text(encoding="utf-8").splitlines():
                assert not re.search(r"[\[(]sys\.executable\b", line), f"{file}: {line}"
