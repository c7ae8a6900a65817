"""spirloom ops: lists the operators, or the supported ONNX operators."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "ops",
        help="list the operators",
        description="Lists Spirloom's operators, or the supported ONNX operators.",
    )
    parser.add_argument("--onnx", action="store_true", help="list ONNX operators instead")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints one operator per line."""
    if arguments.onnx:
        from spirloom.onnx.importer import supported_ops

        print("\n".join(supported_ops()))
        return 0
    from spirloom.ops import OpLibrary

    library = OpLibrary()
    for op in library.names():
        print(f"{op}({', '.join(library.arg_names(op))})")
    return 0
