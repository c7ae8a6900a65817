"""spirloom compare: the difference between two graphs, or between a model and an oracle."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spirloom.commands import compare_model
from spirloom.errors import ImportFailure

if TYPE_CHECKING:
    from spirloom.comparison import Comparison, Difference

EPILOG = """\
examples:
  spirloom compare net.onnx --with onnxruntime --random           is the result right?
  spirloom compare net.onnx --with onnxruntime --random --layers  which node is wrong first?
  spirloom compare net.pt2 --with torch --input x=x.npy --layers
  spirloom compare net.slg --with reference --random --layers     which kernel is wrong?
  spirloom compare net.slg half.slg --random                      how far apart are two graphs?
  spirloom compare net.slg int4.slg --random --json | jq '.outputs[].sqnr_db'

With one model, --with selects what its results are compared with:
  onnxruntime  the values of an ONNX model, computed by ONNX Runtime without optimizations
  torch        the values of an archive of torch.export.save, computed by eager PyTorch; the hidden
               states and logits of a Hugging Face directory, computed by transformers
  reference    for each node, the NumPy reference of its operator for the operands that the device
               computed: errors do not accumulate, so that each wrong row is a wrong kernel
  cpu-kernels  the same graph with the most general kernel of each operator, on a Vulkan device on
               the CPU
With --layers, every intermediate tensor is compared, in order of execution, and the first one above
the tolerance is reported with the kernels that may have caused it. Tensors are found in the source
model by name; a fused node is compared by its last value. Intermediate tensors become outputs, in
chunks of --memory-limit; this disables writing into concatenations and in place.
Exit code 1: a result exceeds the tolerance.

With two graphs, the first is the reference, and nothing is judged: the exit code is 0.

`max abs` is the maximum difference, `relative` is the norm of the differences divided by the norm
of the values, and SQNR is 10 log10(sum of squares / sum of squared differences).
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "compare",
        help="compare a model with ONNX Runtime, PyTorch or the references, or two graphs",
        description="Runs a model on the device and compares its results with those of another "
        "implementation, or runs two graphs on the same inputs and prints the difference of each "
        "output, such as the error of --fp16 or --quantize.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compare_model.add_model_argument(
        parser, "with --with: {formats}; otherwise the reference, a graph file"
    )
    parser.add_argument(
        "other", type=Path, nargs="?", metavar="B.slg", help="a second graph, without --with"
    )
    compare_model.add_oracle_option(parser)
    parser.add_argument(
        "--layers",
        action="store_true",
        help="also compare intermediate tensors; of two graphs, those that have one name and "
        "shape in both",
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON; null: infinite or undefined"
    )
    compare_model.add_input_options(parser)
    compare_model.add_device_options(parser)
    compare_model.add_import_group(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the differences."""
    from spirloom.commands.model_options import arrays_of
    from spirloom.comparison import compare

    if arguments.oracle is not None:
        if arguments.other is not None:
            raise ImportFailure("--with is for one model. Omit B.slg, or --with.")
        return compare_model.run(arguments)
    if arguments.other is None:
        raise ImportFailure(
            "Expected two graph files, or one model and what to compare it with: "
            f"--with {', '.join(compare_model.ORACLES)}."
        )
    found = compare(
        arguments.model,
        arguments.other,
        arrays_of(arguments.input),
        seed=arguments.seed if arguments.random else None,
        method=arguments.method or "",
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
