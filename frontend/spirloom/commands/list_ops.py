"""spirloom ops: lists the operators, or the supported ONNX operators."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

EPILOG = """\
The page of --html is one file that needs no network. It has the GLSL of the first variant of each
kernel, or of all variants of the operators that are named.

examples:
  spirloom ops
  spirloom ops --html operators.html
  spirloom ops linear softmax --html two.html
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "ops",
        help="list the operators",
        description="Lists Spirloom's operators, or the supported ONNX operators.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "op", nargs="*", metavar="OP", help="with --html: only these operators, with all variants"
    )
    parser.add_argument("--onnx", action="store_true", help="list ONNX operators instead")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="also print traits, and names in other formats"
    )
    parser.add_argument(
        "--html",
        type=Path,
        metavar="FILE.html",
        help="write a page with kernels, variants, templates, GLSL and statistics of shaders",
    )
    parser.add_argument(
        "--pack",
        type=Path,
        metavar="FILE",
        help="with --html: shader pack to measure",
    )
    parser.add_argument(
        "--statistics",
        type=Path,
        metavar="FILE.tsv",
        help="with --html: statistics by vendor (default: of a checkout's generated/)",
    )
    parser.set_defaults(run=run, usage=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Prints one operator per line."""
    if arguments.html is not None:
        return _write_page(arguments)
    if arguments.op:
        arguments.usage("operators are named with --html only; `spirloom op show OP` prints one")
    from spirloom.op_library import OpLibrary

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


def _write_page(arguments: argparse.Namespace) -> int:
    from spec_model.files import write_atomically
    from spirloom.commands.op_show import load
    from spirloom.errors import writing
    from spirloom.report.catalog import catalog_data
    from spirloom.report.page import catalog_page_of
    from spirloom.terminal import bytes_text

    data = catalog_data(load((), ()), arguments.op, arguments.pack, arguments.statistics)
    text = catalog_page_of(data).encode("utf-8")
    with writing(arguments.html):
        write_atomically(arguments.html, text)
    print(f"{arguments.html}: {len(data['ops'])} operators, {bytes_text(len(text))}")
    return 0
