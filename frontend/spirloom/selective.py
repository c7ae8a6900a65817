"""The command line of `python3 -m codegen`, extended to select operators by models that it imports.

It runs when a build is configured, before a virtual environment exists.
"""

from __future__ import annotations

import sys
from pathlib import Path

from codegen.cli import main
from codegen.select.models import ModelError
from spec_model.graph_file import Call


def read_model_calls(path: Path) -> list[Call]:
    """The calls of the graph that `spirloom import MODEL` writes without options. For an ExecuTorch
    program, also the calls of its delegate.
    """
    try:
        from spirloom.errors import ImportFailure
        from spirloom.operator_calls import import_calls, program_calls
    except ModuleNotFoundError as error:
        raise ModelError(
            f"importing it requires the Python module '{error.name}', which {sys.executable} "
            "does not have. Install it (apt-get install python3-onnx python3-numpy "
            "python3-flatbuffers), or specify the graph file that `spirloom import` writes for "
            "the model."
        ) from None
    try:
        return (import_calls if path.suffix == ".onnx" else program_calls)(path)
    except ImportFailure as error:
        raise ModelError(
            f"{str(error).removeprefix(f'{path}: ')}\nA model that requires import options must "
            "be imported with `spirloom import`. Specify its graph file."
        ) from None


if __name__ == "__main__":
    sys.exit(main(import_model=read_model_calls))
