"""`spirloom cases`: makes the case pack of op specs."""

from __future__ import annotations

import argparse
from pathlib import Path

from codegen import load_library
from codegen.errors import ErrorList
from spirloom.casegen import case_pack
from spirloom.casegen.make import cases_of
from spirloom.graph_file import replaced

DESCRIPTION = """\
Makes test cases for every variant of the operators: inputs, a graph file of one node, and what the
NumPy reference gives. The C++ program op_tests runs them on a device.

  spirloom cases --spec-dir op_specs --template-dir templates/glsl --out ops.slcases
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `spirloom cases`."""
    parser.add_argument("--spec-dir", type=Path, action="append", required=True, metavar="DIR")
    parser.add_argument("--template-dir", type=Path, action="append", required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, help="the .slcases file to write")
    parser.add_argument("--op", metavar="NAME", help="only this op, e.g. aten.add.Tensor")


def run(arguments: argparse.Namespace) -> int:
    """Writes the pack. Raises SpecError for bad specs."""
    library = load_library(arguments.spec_dir, arguments.template_dir)
    ops = [op for name, op in sorted(library.ops.items()) if arguments.op in (None, name)]
    cases: list[case_pack.Case] = []
    errors = ErrorList()
    for op in ops:
        with errors:
            cases += cases_of(op)
    errors.raise_any()
    packed = case_pack.to_bytes(cases)
    with replaced(arguments.out) as stream:
        stream.write(packed)
    print(f"{len(cases)} cases of {len(ops)} operators, {len(packed) / 1e6:.1f} MB")
    return 0
