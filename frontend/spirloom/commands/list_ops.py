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
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="also print traits, and names in other formats"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints one operator per line."""
    from spirloom.ops import OpLibrary

    library = OpLibrary()
    if arguments.onnx:
        from spirloom.onnx.importer import supported_ops

        print("\n".join(supported_ops(library)))
        return 0
    for op in library.names():
        print(f"{op}({', '.join(library.arg_names(op))})")
        if arguments.verbose:
            for what, names in library.facts(op).items():
                print(f"  {what}: {', '.join(names)}")
    return 0
