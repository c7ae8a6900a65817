"""ONNX models, whose import is the business of a front end that lies over the generator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from codegen.graph_file import Call


class OnnxError(Exception):
    """The model cannot be imported; the message says why, and what to do."""


# The calls of the graph that an ONNX model becomes. Raises OnnxError, or OSError for the file.
OnnxImport = Callable[[Path], list[Call]]


def no_import(path: Path) -> list[Call]:
    """What the generator does by itself."""
    raise OnnxError(
        f"{path.suffix} files are imported by the front end. Run `python3 -m spirloom.selective` "
        "in place of `python3 -m codegen`, with frontend/ on PYTHONPATH, or name the graph file "
        "that `spirloom import` makes of the model."
    )
