"""spirloom cases: the test cases of op specs (see spirloom.casegen)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from spec_model import Op, SpecError
from spirloom.errors import ImportFailure, writing
from spirloom.installation import how_to_install

DESCRIPTION = """\
Generates test cases for every variant of the operators: inputs, a graph file of one node, and the
results of the NumPy reference. The C++ program op_tests runs them on a device. What the specs
declare of the operators (bounds, traits, views) is compared with the references on random calls.

  spirloom cases --spec-dir op_specs --template-dir templates/glsl --out ops.slcases
"""


FACT_CALLS = 25


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
    parser.add_argument(
        "--facts",
        type=int,
        default=FACT_CALLS,
        metavar="N",
        help="compare the bounds, traits and views that each op declares with its reference in N "
        "random calls (requires Hypothesis; default: %(default)s; 0: no comparison)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Writes the case pack."""
    from spirloom.casegen import cli

    try:
        with writing(arguments.out):
            return cli.run(arguments, _fact_check(arguments.facts))
    except SpecError as error:
        raise ImportFailure(*str(error).splitlines()) from error


def _fact_check(calls: int) -> Callable[[Op], None]:
    """Compares the facts that an op declares with its reference, in random calls."""
    if calls == 0:
        return lambda op: None
    try:
        from spirloom.facts.search import check_facts
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        print(
            "spirloom: note: declared bounds, traits and views are not compared with the "
            f"references, which requires Hypothesis. {how_to_install('hypothesis')}",
            file=sys.stderr,
        )
        return lambda op: None
    return partial(check_facts, calls=calls)
