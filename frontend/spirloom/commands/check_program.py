"""spirloom run NET.bpte --check: the test cases of a bundled ExecuTorch program."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

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
    from spirloom.op_library import OpLibrary
    from spirloom.pte.file import ProgramFile, cases_of, differences
    from spirloom.pte.importer import import_method
    from spirloom.pte.method import method_of
    from spirloom.torch.options import Options

    options = parser().parse_args(arguments)
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


def parser() -> argparse.ArgumentParser:
    """The parser of the arguments of `spirloom run`."""
    made = argparse.ArgumentParser(
        prog="spirloom run",
        description="Runs the cases of a bundled ExecuTorch program.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("program", type=Path, metavar="NET.bpte")
    made.add_argument("--check", action="store_true", help="run the cases of a bundled program")
    made.add_argument("--method", metavar="NAME", help="the method (default: forward)")
    made.add_argument("--fp16", action="store_true", help="compute in float16")
    made.add_argument("--rtol", type=float, default=1e-4, help="(default: %(default)s)")
    made.add_argument("--atol", type=float, default=1e-5, help="(default: %(default)s)")
    return made
