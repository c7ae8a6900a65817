"""spirloom extract: writes the delegates of an ExecuTorch program as graph files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from spirloom.errors import ImportFailure, writing

EPILOG = """\
example:
  spirloom extract resnet18.pte -o delegates     writes delegates/forward.0.slg, …
  spirloom run delegates/forward.0.slg --random --profile

A delegate of SpirloomBackend is written as it is stored, with its dynamic shapes. One of
VulkanBackend is converted at its maximum sizes, without optimization passes.
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "extract",
        help="write the delegates of an ExecuTorch program as graph files",
        description="Writes each delegate of an ExecuTorch program as the graph file "
        "METHOD.INDEX.slg.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("program", type=Path, metavar="NET.pte", help="the .pte or .bpte")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR",
        help="the directory to write, which is created if necessary",
    )  # fmt: skip
    parser.add_argument(
        "--spec-dir", type=Path, action="append", default=[], metavar="DIR",
        help="a directory with further operator specs",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the files. Prints a summary of each."""
    from spec_model.files import write_atomically
    from spirloom.inspect import summary
    from spirloom.op_library import OpLibrary
    from spirloom.pte.extract import delegates_of
    from spirloom.pte.file import ProgramFile

    file = ProgramFile(arguments.program)
    found = list(delegates_of(file, OpLibrary.with_dirs(arguments.spec_dir)))
    if not found:
        raise ImportFailure(f"{file.path} has no delegates.")
    with writing(arguments.output):
        arguments.output.mkdir(parents=True, exist_ok=True)
        for delegate in found:
            path = arguments.output / f"{_bare(delegate.method)}.{delegate.index}.slg"
            write_atomically(path, delegate.data)
            print(f"{path}: {summary(delegate.graph)}")
    return 0


def _bare(method: str) -> str:
    """The name of a method as a part of a file name. Programs may contain any text."""
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in method)
