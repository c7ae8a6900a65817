"""Models whose import is the business of a front end that lies over the generator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from codegen.graph_file import Call


class ModelError(Exception):
    """The model cannot be imported; the message says why, and what to do."""


# Of ONNX models, and of programs of ExecuTorch.
SUFFIXES = (".onnx", ".pte", ".bpte")
# The calls of the graphs that a model becomes. Raises ModelError, or OSError for the file.
ModelImport = Callable[[Path], list[Call]]


def no_import(path: Path) -> list[Call]:
    """What the generator does by itself."""
    raise ModelError(
        f"{path.suffix} files are imported by the front end. Run `python3 -m spirloom.selective` "
        "in place of `python3 -m codegen`, with frontend/ on PYTHONPATH, or specify the "
        "graph file that `spirloom import` writes for the model."
    )
