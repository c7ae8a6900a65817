"""spirloom op explain: the kernels that a call considers, and the one that it gets."""

from __future__ import annotations

import argparse
from typing import Any

EPILOG = """\
examples:
  spirloom op explain linear --shapes 'x: [197, 768], weight: [3072, 768]' --dtype f16 --device h100
  spirloom op explain aten.mm --shapes 'a: [512, 512], b: [512, 512]'
  spirloom op explain softmax --shapes 'x: [12, 197, 197], dim: 2' --device phones.yaml
"""
EXPLAIN = """\
Prints the kernels that the runtime considers for a call, in order: the conditions of each with the
values of their names, and the kernel that is taken. It runs the runtime's own selection, for a
device of this machine or a described one (page 'Tune kernel selection' of the documentation).
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    explain = commands.add_parser(
        "explain",
        help="explain which kernel a call gets",
        description=EXPLAIN,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    explain.add_argument("op", metavar="OP", help="the operator: aten.mm or mm")
    explain.add_argument(
        "--shapes",
        required=True,
        metavar="ARGS",
        help="the arguments as in test cases of specs: 'x: [1, 768], dim: 1'; an absent argument "
        "has its default, an absent tensor is none",
    )
    explain.add_argument("--dtype", help="the dtype of the variant (default: the first: f32)")
    explain.add_argument(
        "--storage", default="buffer", help="the storage: buffer, texture3d or texture2d"
    )
    explain.add_argument(
        "--device",
        default="this",
        metavar="DEVICE",
        help="a described device (h100, mali-g57, ...), a YAML file of descriptions, or this "
        "(default): the device of this machine",
    )
    explain.set_defaults(run=run_explain)


def run_explain(arguments: argparse.Namespace) -> int:
    """Prints the explanation."""
    from spirloom.casegen.explain import explain

    print(
        explain(
            arguments.op, arguments.shapes, arguments.dtype, arguments.storage, arguments.device
        )
    )
    return 0
