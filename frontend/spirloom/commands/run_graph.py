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
The program is imported with the defaults of `spirloom import`. An output passes if it differs by at
most ATOL + RTOL · |expected|. Exit code 1: an output failed.
"""


def check(arguments: Sequence[str]) -> int:
    """Runs all cases of a method, and prints the error of each output."""
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
            f"{file.path} has no cases of '{method['name']}'. --check requires a bundled program "
            "(.bpte)."
        )
    graph = import_method(file, OpLibrary(), Options(fp16=options.fp16), method["name"])
    model = load(graph_file.to_bytes(graph))
    tensors = [i for i, value in enumerate(method["inputs"]) if _is_tensor(method, value)]
    failed = 0
    for index, case in enumerate(cases):
        if len(case.inputs) != len(method["inputs"]):
            raise ImportFailure(
                f"Case {index} has {len(case.inputs)} inputs; '{method['name']}' has "
                f"{len(method['inputs'])}."
            )
        given: list[Array] = [np.asarray(y) for y in model(*(case.inputs[at] for at in tensors))]
        if len(given) != len(case.outputs):
            raise ImportFailure(
                f"Case {index} has {len(case.outputs)} outputs; '{method['name']}' has "
                f"{len(given)}."
            )
        for found in differences(given, case.outputs, options.rtol, options.atol):
            verdict = "passed" if found.within else "FAILED"
            print(f"case {index}, output {found.output}: {verdict}, error {found.max:.1e}")
            failed += not found.within
    return 1 if failed else 0


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
    parser.add_argument("--check", action="store_true", help="run the cases of a bundled program")
    parser.add_argument("--method", metavar="NAME", help="the method (default: forward)")
    parser.add_argument("--fp16", action="store_true", help="compute in float16")
    parser.add_argument("--rtol", type=float, default=1e-4, help="(default: %(default)s)")
    parser.add_argument("--atol", type=float, default=1e-5, help="(default: %(default)s)")
    return parser


def add_parser(commands: Any) -> None:
    """Adds the subcommand. spirloom-run parses its arguments, including --help."""
    parser = commands.add_parser(
        "run",
        help="run a graph file on .npy inputs (spirloom-run), generate text with MODEL.gguf or a "
        "model directory, check the test cases of NET.slg or NET.bpte (--check), or record a run "
        "(--record FILE.slreplay)",
        add_help=False,
        prefix_chars="\0",  # no options of this parser
    )
    parser.add_argument("arguments", nargs="*")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Replaces the process with spirloom-run, except for --record, --check of an ExecuTorch program
    and language models.
    """
    from spirloom.commands.generate_text import generate, is_text_model

    if any(each == "--record" or each.startswith("--record=") for each in arguments.arguments):
        from spirloom.commands.replay import record

        return record(arguments.arguments)
    if is_text_model(arguments.arguments):
        return generate(arguments.arguments)
    if "--check" not in arguments.arguments or any(map(_is_graph, arguments.arguments)):
        return _exec_spirloom_run(arguments.arguments)

    return check(arguments.arguments)


def _is_graph(argument: str) -> bool:
    from spirloom.commands.compare_model import is_graph_file

    return argument.endswith(".slg") or is_graph_file(Path(argument))


def _exec_spirloom_run(arguments: list[str]) -> int:
    from spirloom.programs import run_arguments

    command = run_arguments(arguments)
    sys.stdout.flush()
    os.execv(command[0], command)
