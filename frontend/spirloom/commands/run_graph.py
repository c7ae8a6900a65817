"""spirloom run: executes spirloom-run, or checks the cases of a bundled ExecuTorch program."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.ir import Array

EPILOG = """\
The program is imported as `spirloom import` does. An output is right where it differs by no more
than ATOL + RTOL · |expected|. Exit code 1: one is not.
"""


def check(arguments: Sequence[str]) -> int:
    """Runs all cases of a method, and tells how far each output is."""
    from spirloom import graph_file, load
    from spirloom.ops import OpLibrary
    from spirloom.pte.file import ProgramFile, cases_of, differences
    from spirloom.pte.importer import import_method
    from spirloom.pte.method import method_of
    from spirloom.torch.options import Options

    options = _parser().parse_args(arguments)
    file = ProgramFile(options.program)
    method = method_of(file, options.method)
    cases = cases_of(file, method["name"])
    if not cases:
        raise ImportFailure(
            f"{file.path} has no cases of '{method['name']}'; --check wants a bundled program "
            "(.bpte)."
        )
    graph = import_method(file, OpLibrary(), Options(fp16=options.fp16), method["name"])
    model = load(graph_file.to_bytes(graph))
    tensors = [place for place, index in enumerate(method["inputs"]) if _is_tensor(method, index)]
    wrong = 0
    for number, case in enumerate(cases):
        if len(case.inputs) != len(method["inputs"]):
            raise ImportFailure(
                f"case {number} has {len(case.inputs)} inputs, and '{method['name']}' takes "
                f"{len(method['inputs'])}."
            )
        given: list[Array] = [np.asarray(y) for y in model(*(case.inputs[at] for at in tensors))]
        if len(given) != len(case.outputs):
            raise ImportFailure(
                f"case {number} has {len(case.outputs)} outputs, and there are {len(given)}."
            )
        for found in differences(given, case.outputs, options.rtol, options.atol):
            verdict = "right" if found.within else "WRONG"
            print(f"case {number}, output {found.output}: {verdict}, off by {found.greatest:.1e}")
            wrong += not found.within
    return 1 if wrong else 0


def _is_tensor(method: dict[str, object], index: int) -> bool:
    values = method["values"]
    assert isinstance(values, list)
    member = values[index]["value"]
    return member is not None and member[0] == "Tensor"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spirloom run", description=__doc__, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("program", type=Path, metavar="NET.bpte")
    parser.add_argument("--check", action="store_true", help="this")
    parser.add_argument("--method", metavar="NAME", help="the method (default: forward)")
    parser.add_argument("--fp16", action="store_true", help="compute in float16")
    parser.add_argument("--rtol", type=float, default=1e-4, help="(default: %(default)s)")
    parser.add_argument("--atol", type=float, default=1e-5, help="(default: %(default)s)")
    return parser


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

    return check(arguments.arguments)


def _become_spirloom_run(arguments: list[str]) -> int:
    from spirloom.programs import run_arguments

    command = run_arguments(arguments)
    sys.stdout.flush()
    os.execv(command[0], command)
