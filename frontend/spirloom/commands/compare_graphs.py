"""spirloom compare: the difference between the outputs of two graphs."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spirloom.comparison import Comparison, Difference

EPILOG = """\
examples:
  spirloom compare net.slg half.slg --random
  spirloom compare net.slg int4.slg --input x=x.npy --layers
  spirloom compare net.slg int4.slg --random --json | jq '.outputs[].sqnr_db'

The first graph is the reference. `max abs` is the maximum difference, `relative` is the norm of the
differences divided by the norm of the values, and SQNR is 10 log10(sum of squares / sum of squared
differences).
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "compare",
        help="compare the outputs of two graphs",
        description="Runs two graphs on the same inputs and prints the difference of each output, "
        "such as the error of --fp16 or --quantize.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("a", type=Path, metavar="A.slg", help="the reference")
    parser.add_argument("b", type=Path, metavar="B.slg", help="the graph to compare with it")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="the value of an input",
    )
    parser.add_argument("--random", action="store_true", help="random values for all other inputs")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the random values (default: %(default)s)"
    )
    parser.add_argument(
        "--method", default="", metavar="NAME", help="the method of files with several"
    )
    parser.add_argument(
        "--layers",
        action="store_true",
        help="also compare intermediate tensors that have one name and shape in both graphs",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON; null: infinite or undefined"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the differences."""
    from spirloom.commands.model_options import arrays_of
    from spirloom.comparison import compare

    found = compare(
        arguments.a,
        arguments.b,
        arrays_of(arguments.input),
        seed=arguments.seed if arguments.random else None,
        method=arguments.method,
        layers=arguments.layers,
    )
    print(json.dumps(_described(found), indent=2) if arguments.json else to_text(found))
    return 0


def to_text(found: Comparison) -> str:
    """A table, intermediate tensors first."""
    from spirloom.terminal import shown

    rows = [("tensor", "max abs", "relative", "SQNR dB", "cosine")]
    rows += [(shown(each.name), *_metrics(each)) for each in (*found.layers, *found.outputs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])


def _metrics(each: Difference) -> tuple[str, str, str, str]:
    return (
        f"{each.max_abs:.2e}",
        f"{each.relative:.2e}",
        f"{each.sqnr:.1f}",
        f"{each.cosine:.7f}",
    )


def _described(found: Comparison) -> dict[str, object]:
    return {
        kind: [
            {
                "name": each.name,
                "max_abs": _finite(each.max_abs),
                "relative": _finite(each.relative),
                "sqnr_db": _finite(each.sqnr),
                "cosine": _finite(each.cosine),
            }
            for each in rows
        ]
        for kind, rows in (("layers", found.layers), ("outputs", found.outputs))
    }


def _finite(value: float) -> float | None:
    """The value, or None for infinities and NaN, which JSON does not support."""
    return value if math.isfinite(value) else None
