"""spirloom compare MODEL --with ORACLE: options, and the table of tensors."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spirloom.commands.import_model import add_import_options
from spirloom.errors import ImportFailure

if TYPE_CHECKING:
    from spirloom.debug.device_values import DeviceOptions
    from spirloom.debug.metrics import Measured
    from spirloom.debug.model_comparison import Cause, Comparer, ModelComparison, Row
    from spirloom.ir import Graph
    from spirloom.op_library import OpLibrary
    from spirloom.terminal import Report

ORACLES = ("onnxruntime", "torch", "reference", "cpu-kernels")
# Names of this many values without a tensor are printed.
_MAX_NAMES = 8


_FORMATS = ".onnx, .pt2, .pte, .slg or .gguf, or a Hugging Face directory"


def add_model_argument(
    parser: argparse.ArgumentParser, help: str = f"the model: {_FORMATS}", optional: bool = False
) -> None:
    """Adds MODEL. `{formats}` in the help is the list of formats."""
    text = help.format(formats=_FORMATS)
    presence: dict[str, Any] = {"nargs": "?"} if optional else {}
    parser.add_argument("model", type=Path, metavar="MODEL", help=text, **presence)


def add_oracle_option(parser: argparse.ArgumentParser) -> None:
    """Adds --with."""
    parser.add_argument(
        "--with",
        dest="oracle",
        choices=ORACLES,
        help="what the results of MODEL are compared with (see below)",
    )


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for inputs."""
    group = parser.add_argument_group("inputs")
    group.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="the value of an input, or the initial value of a state",
    )
    group.add_argument("--random", action="store_true", help="random values for all other inputs")
    group.add_argument(
        "--seed", type=int, default=0, help="seed of the random values (default: %(default)s)"
    )
    group.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a dynamic size of the graph (default: that of the inputs, else 16)",
    )


def add_device_options(parser: argparse.ArgumentParser, tolerance: bool = True) -> None:
    """Adds the options for the device, and --tolerance."""
    group = parser.add_argument_group("device")
    group.add_argument(
        "--device", help="index, name or uuid of the device (default: SPIRLOOM_DEVICE)"
    )
    group.add_argument(
        "--override",
        action="append",
        default=[],
        type=Path,
        metavar="FILE.slpack",
        help="a shader library whose operators replace those of the same name",
    )
    group.add_argument(
        "--kernel",
        action="append",
        default=[],
        metavar="NAME",
        help="a kernel to use for all calls that it supports",
    )
    group.add_argument(
        "--verdicts",
        type=Path,
        metavar="FILE",
        help="verdicts of spirloom verify: kernels that failed it are not selected (default: the "
        "file in the cache directory); 'none' selects all kernels",
    )
    group.add_argument(
        "--memory-limit",
        type=int,
        default=512,
        metavar="MIB",
        help="intermediate tensors that are kept at a time, on the device and in host memory "
        "(default: %(default)s)",
    )
    if not tolerance:
        return
    group.add_argument(
        "--tolerance",
        type=float,
        metavar="RELATIVE",
        help="the allowed relative error (default: by dtype; float32: 1e-4 with --with reference, "
        "otherwise 1e-3; float16: 4e-3 and 3e-2)",
    )


def add_import_group(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `spirloom import`."""
    add_import_options(
        parser.add_argument_group("import (of models that are not graph files; spirloom import)")
    )


def device_options(arguments: argparse.Namespace) -> DeviceOptions:
    """The options of add_device_options()."""
    from spirloom.debug.device_values import DeviceOptions

    return DeviceOptions(
        arguments.device,
        tuple(arguments.override),
        tuple(arguments.kernel),
        arguments.storage,
        max(arguments.memory_limit, 1) << 20,
        arguments.verdicts,
    )


def read_graph(arguments: argparse.Namespace, library: OpLibrary, report: Report) -> Graph:
    """The method of the model: read from a graph file, or imported."""
    from spirloom import graph_reader
    from spirloom.commands.import_model import checked_options, import_graphs
    from spirloom.formats.options import Format
    from spirloom.formats.readers import format_of

    if not arguments.model.exists():
        raise ImportFailure(f"Cannot read {arguments.model}: No such file or directory.")
    if is_graph_file(arguments.model):
        graphs = graph_reader.load_methods(arguments.model)
    else:
        options = checked_options(arguments)
        if format_of(arguments.model) is Format.LANGUAGE_MODEL:
            # All methods are imported, and one is compared. The storage is that of the run.
            options = replace(options, method=None, storage="auto")
        graphs = import_graphs(arguments.model, options, library, report)
    wanted = arguments.method or ""
    for graph in graphs:
        if graph.name == wanted or len(graphs) == 1 or not wanted:
            return graph
    known = ", ".join(graph.name or "(no name)" for graph in graphs)
    raise ImportFailure(f"{arguments.model} has no method '{wanted}', only {known}.")


def is_graph_file(path: Path) -> bool:
    """Whether a file is a graph file, by its identifier."""
    from spec_model.graph_file import IDENTIFIER
    from spirloom.mapped_file import starts_with

    return starts_with(path, IDENTIFIER, 8)


def sizes_of(arguments: argparse.Namespace) -> dict[str, int]:
    """The sizes of --size by symbol."""
    found = {}
    for text in arguments.size:
        name, _, size = text.partition("=")
        if not size.isdecimal():
            raise ImportFailure(f"--size must be NAME=N, not '{text}'.")
        found[name] = int(size)
    return found


def comparer_of(arguments: argparse.Namespace, report: Report) -> Comparer:
    """Reads the model, and completes the inputs."""
    from spirloom.commands.model_options import arrays_of
    from spirloom.debug.inputs import at_sizes, complete_inputs
    from spirloom.debug.model_comparison import Comparer
    from spirloom.op_library import OpLibrary

    library = OpLibrary.with_dirs(arguments.spec_dir)
    given = arrays_of(arguments.input)
    graph = read_graph(arguments, library, report)
    graph = at_sizes(graph, library, given, sizes_of(arguments))
    inputs = complete_inputs(graph, given, arguments.seed if arguments.random else None)
    inputs |= arrays_of(arguments.constant_input)
    options = device_options(arguments)
    tolerance = getattr(arguments, "tolerance", None)  # `run --record` has none
    return Comparer(graph, inputs, library, options, tolerance, report)


def run(arguments: argparse.Namespace) -> int:
    """Prints the table and the first wrong tensor. Returns 1 if one is wrong."""
    from spirloom.debug.oracles import Oracle
    from spirloom.terminal import Progress

    with Progress(str(arguments.model)) as progress:
        comparer = comparer_of(arguments, progress)
        found = comparer.compare(Oracle(arguments.oracle), arguments.model, arguments.layers)
    print(json.dumps(described(found), indent=2) if arguments.json else to_text(found))
    return 0 if found.first_wrong is None else 1


def to_text(found: ModelComparison) -> str:
    """The table of all rows, and the verdict."""
    from spirloom.terminal import shown

    titles = ("#", "tensor", "type", "op", "kernel", "max abs", "relative", "SQNR dB", "NaN/inf")
    rows = [titles, *(_cells(row) for row in found.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row, marks in zip(rows, ("", *map(_marks, found.rows)), strict=True):
        cells = [c.ljust(w) if i < 5 else c.rjust(w)
                 for i, (c, w) in enumerate(zip(row, widths, strict=True))]  # fmt: skip
        lines.append(("  ".join(cells) + marks).rstrip())
    return "\n".join((*lines, "", *map(shown, verdict(found))))


def _cells(row: Row) -> tuple[str, ...]:
    from spirloom.terminal import shown

    kernels = ", ".join(row.kernels) or "(view)"
    numbers = ("-", "-", "-", "-") if row.measured is None else _numbers(row.measured)
    name = row.tensor.name or row.node.name
    return (str(row.index), shown(name), str(row.tensor), row.node.op, kernels, *numbers)


def _numbers(measured: Measured) -> tuple[str, str, str, str]:
    return (
        f"{measured.max_abs:.2e}",
        f"{measured.relative:.2e}",
        f"{measured.sqnr:.1f}",
        f"{measured.nan}/{measured.inf}",
    )


def _marks(row: Row) -> str:
    if row.is_wrong:
        return "  WRONG"
    return f"  {row.note}" if row.note else ""


def verdict(found: ModelComparison) -> list[str]:
    """How many tensors were compared, and where the first wrong number comes from."""
    compared = [row for row in found.rows if row.measured is not None]
    wrong = [row for row in compared if row.is_wrong]
    lines = [
        f"{len(compared)} of {len(found.rows)} tensors compared with {found.oracle}, "
        f"{len(wrong)} above the tolerance."
    ]
    if found.unmatched:
        names = ", ".join(found.unmatched[:_MAX_NAMES])
        more = ", …" if len(found.unmatched) > _MAX_NAMES else ""
        lines.append(
            f"{len(found.unmatched)} values of the source model were not compared, because they "
            f"were fused or folded, or have another shape: {names}{more}"
        )
    first = found.first_wrong
    if first is None:
        return lines
    assert first.measured is not None
    at = list(first.measured.at)
    lines.append(f"First wrong: node {first.index}, {describe_node(first)}; largest error at {at}.")
    if found.cause is not None:
        lines += cause_lines(found.cause, first)
    return lines


def describe_node(row: Row) -> str:
    """The operator, the name in the source model and the source line."""
    source = f" at {row.source}" if row.source else ""
    return f"{row.node.op} ({row.node.name}){source}"


def cause_lines(cause: Cause, first: Row) -> list[str]:
    """Which kernel is wrong, or that all agree with their references."""
    if cause.node is not None and cause.measured is not None:
        kernels = ", ".join(cause.kernels) or "a view"
        lines = [
            f"Cause: {kernels} of {cause.node.op} ({cause.node.name}) differs from the operator's "
            f"reference for the same operands by {cause.measured.relative:.2e}."
        ]
    else:
        lines = [
            f"Cause: the kernels up to {first.node.name} agree with their references, so the "
            "import or a pass is wrong, or --fp16 or --quantize rounds more than the tolerance. "
            "`spirloom bisect` finds which."
        ]
    if cause.unchecked:
        names = ", ".join(node.name for node in cause.unchecked[:_MAX_NAMES])
        lines.append(f"Not checked, as their operators have no complete reference: {names}")
    return lines


def described(found: ModelComparison) -> dict[str, object]:
    """The comparison for JSON."""
    first = found.first_wrong
    cause = found.cause
    return {
        "with": str(found.oracle),
        "rows": [_described(row) for row in found.rows],
        "unmatched": list(found.unmatched),
        "first_wrong": None if first is None else first.tensor.name or first.node.name,
        "cause": None
        if cause is None
        else {
            "node": None if cause.node is None else cause.node.name,
            "op": None if cause.node is None else cause.node.op,
            "kernels": list(cause.kernels),
        },
    }


def _described(row: Row) -> dict[str, object]:
    measured = row.measured
    numbers: dict[str, object] = {}
    if measured is not None:
        numbers = {
            "max_abs": finite(measured.max_abs),
            "relative": finite(measured.relative),
            "sqnr_db": finite(measured.sqnr),
            "nan": measured.nan,
            "inf": measured.inf,
            "largest_error_at": list(measured.at),
            "wrong": measured.wrong,
        }
    return {
        "node": row.node.name,
        "op": row.node.op,
        "tensor": row.tensor.name,
        "dtype": str(row.tensor.dtype),
        "shape": list(row.tensor.shape),
        "kernels": list(row.kernels),
        "source": row.source,
        "output": row.is_output,
        "note": row.note,
        **numbers,
    }


def finite(value: float) -> float | None:
    """The value, or None for infinities and NaN, which JSON does not support."""
    return value if math.isfinite(value) else None
