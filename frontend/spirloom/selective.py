"""The generator's command line, `python3 -m codegen`, with models to select by that are imported.

Configuring a build runs it, before any virtual environment is there.
"""

from __future__ import annotations

import sys
from pathlib import Path

from codegen.cli import main
from codegen.graph_file import Call
from codegen.select.imported_model import ModelError


def read_model_calls(path: Path) -> list[Call]:
    """The calls of the graph that `spirloom import MODEL` writes without options; of a program of
    ExecuTorch also those of the delegate."""
    try:
        from spirloom.calls import import_calls, program_calls
        from spirloom.errors import ImportFailure
    except ModuleNotFoundError as error:
        raise ModelError(
            f"importing it needs the Python module '{error.name}', which {sys.executable} lacks. "
            "Install it (apt-get install python3-onnx python3-numpy python3-flatbuffers), or name "
            "the graph file that `spirloom import` makes of the model."
        ) from None
    try:
        return (import_calls if path.suffix == ".onnx" else program_calls)(path)
    except ImportFailure as error:
        raise ModelError(
            f"{str(error).removeprefix(f'{path}: ')}\n"
            "An import that needs options is made with `spirloom import`; name its graph file."
        ) from None


if __name__ == "__main__":
    sys.exit(main(import_model=read_model_calls))
