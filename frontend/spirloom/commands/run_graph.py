"""spirloom run: spirloom-run, wherever it lies, and the cases of a bundled program."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any


def add_parser(commands: Any) -> None:
    """Adds the subcommand; spirloom-run reads its arguments, --help too."""
    parser = commands.add_parser(
        "run",
        help="run a graph file on .npy inputs: spirloom-run; or NET.bpte --check",
        add_help=False,
        prefix_chars="\0",  # nothing is an option of ours
    )
    parser.add_argument("arguments", nargs="*")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Becomes spirloom-run, unless cases are to be checked."""
    if "--check" not in arguments.arguments:
        return _become_spirloom_run(arguments.arguments)
    from spirloom.commands.check_cases import check

    return check(arguments.arguments)


def _become_spirloom_run(arguments: list[str]) -> int:
    from spirloom.programs import run_arguments

    command = run_arguments(arguments)
    sys.stdout.flush()
    os.execv(command[0], command)
