"""ONNX models, imported in memory by the front end, which lies beside the generator."""

from __future__ import annotations

import sys
from pathlib import Path

from codegen.graph_file import Call

_FRONT_END = Path(__file__).resolve().parents[2] / "frontend"


class OnnxError(Exception):
    """The model cannot be imported; the message says why, and what to do."""


def read_onnx_calls(path: Path) -> list[Call]:
    """The calls of the graph that `spirloom import MODEL.onnx` writes without options."""
    sys.path.insert(0, str(_FRONT_END))
    try:
        from spirloom.calls import import_calls
        from spirloom.errors import ImportFailure
    except ModuleNotFoundError as error:
        raise OnnxError(
            f"importing ONNX needs the Python module '{error.name}', which {sys.executable} lacks. "
            "Install it (apt-get install python3-onnx python3-numpy python3-flatbuffers), or name "
            "the graph file that `spirloom import` makes of the model."
        ) from None
    finally:
        sys.path.remove(str(_FRONT_END))
    try:
        return import_calls(path)
    except ImportFailure as error:
        raise OnnxError(
            f"{str(error).removeprefix(f'{path}: ')}\n"
            "An import that needs options is made with `spirloom import`; name its graph file."
        ) from None
