"""spirloom cases: the test cases of op specs (see spirloom.casegen)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from spec_model import SpecError
from spirloom.errors import ImportFailure, writing

DESCRIPTION = """\
Generates test cases for every variant of the operators: inputs, a graph file of one node, and the
results of the NumPy reference. The C++ program op_tests runs them on a device.

  spirloom cases --spec-dir op_specs --template-dir templates/glsl --out ops.slcases
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "cases",
        help="generate test cases of op specs",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_arguments(parser)
    parser.set_defaults(run=run)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spec-dir", type=Path, action="append", required=True, metavar="DIR")
    parser.add_argument("--template-dir", type=Path, action="append", required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, help="the .slcases file to write")
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="directory to cache the cases of each op"
    )
    parser.add_argument(
        "--depfile", type=Path, metavar="FILE", help="the depfile to write: all inputs of the cases"
    )
    parser.add_argument("--op", metavar="NAME", help="only this op, e.g. aten.add.Tensor")


def run(arguments: argparse.Namespace) -> int:
    """Writes the case pack."""
    from spirloom.casegen import cli

    try:
        with writing(arguments.out):
            return cli.run(arguments)
    except SpecError as error:
        raise ImportFailure(*str(error).splitlines()) from error
