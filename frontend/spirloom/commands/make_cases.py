"""spirloom cases: the test cases of op specs (see spirloom.casegen)."""

from __future__ import annotations

import argparse
from typing import Any

from codegen import SpecError
from spirloom.casegen import cli
from spirloom.errors import ImportFailure


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "cases",
        help="make test cases of op specs",
        description=cli.DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    cli.add_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the case pack."""
    try:
        return cli.run(arguments)
    except SpecError as error:
        raise ImportFailure(*str(error).splitlines()) from error
    except OSError as error:
        path = error.filename or arguments.out
        raise ImportFailure(f"Cannot write {path}: {error.strerror}.") from error
