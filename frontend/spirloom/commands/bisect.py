"""spirloom bisect: which pass, kernel, dtype or storage makes a result wrong."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spirloom.commands import compare_model
from spirloom.formats.output_files import refuse_input

if TYPE_CHECKING:
    from spirloom.debug.bisection import Experiment, Finding, Setting, Variation
    from spirloom.ir import Graph
    from spirloom.terminal import Report

EPILOG = """\
examples:
  spirloom bisect net.onnx --random
  spirloom bisect net.pt2 --input x=x.npy --fp16
  spirloom bisect net.slg --random -o reproducer.slg
  spirloom run reproducer.slg --check

First every node is compared, as by `spirloom compare --layers`. If one is wrong, the model is run
with one thing changed at a time: with the most general kernel of each operator, in another storage,
without the libraries of --override, in float32 (with --fp16 or --quantize), and without the passes
of the import. Then:
  kernel  the node whose kernel differs from its operator's reference runs alone, with the operands
          that it had in the model, by each kernel of the operator and in each storage
  pass    if the result is right without passes, each pass is skipped in turn
  dtype   the result is right in float32: rounding, not a fault
  import  the result is wrong without passes too, and all kernels agree with their references
The reproducer is a graph of the wrong node, or of the nodes between the last right value and the
first wrong one, with inputs and expected outputs. `spirloom run reproducer.slg --check` runs it.
Its dispatches are also written as a script for Amber (reproducer.amber), if all tensors are in
buffers: SPIR-V assembly, specialization and push constants, contents and expected values.
Exit code 1: something is wrong; 0: all compared tensors are right.
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "bisect",
        help="find the pass, kernel, dtype or storage that makes a result wrong",
        description="Finds what makes a model's result wrong, and writes a small graph that "
        "reproduces it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compare_model.add_model_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("reproducer.slg"),
        metavar="FILE.slg",
        help="the reproducer to write (default: %(default)s)",
    )
    parser.add_argument(
        "--with",
        dest="oracle",
        choices=compare_model.ORACLES,
        help="what results are compared with (default: onnxruntime for .onnx, torch for .pt2, "
        "otherwise reference)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    compare_model.add_input_options(parser)
    compare_model.add_device_options(parser)
    compare_model.add_import_group(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the experiments and the cause, and writes the reproducer."""
    from spirloom import graph_file
    from spirloom.debug.bisection import Bisection
    from spirloom.terminal import Progress

    refuse_input("-o", arguments.output, arguments.model)
    with Progress(str(arguments.model)) as progress:
        found = Bisection(_setting(arguments, progress), progress).run()
        if found.reproducer is not None:
            graph_file.save(found.reproducer, arguments.output)
    written = None if found.reproducer is None else arguments.output
    script = None if written is None else _write_amber(arguments, written)
    if arguments.json:
        print(json.dumps(_described(found, written, script), indent=2))
    else:
        print("\n".join(_lines(found, written, script)))
    return 0 if found.kind == "none" else 1


def _write_amber(arguments: argparse.Namespace, reproducer: Path) -> Path | None:
    """Writes the reproducer as an Amber script, unless its tensors are in images or are copied."""
    from spirloom.debug.amber import write_script
    from spirloom.errors import ImportFailure

    path = reproducer.with_suffix(".amber")
    with contextlib.suppress(ImportFailure):
        write_script(reproducer, compare_model.device_options(arguments), path)
        return path
    return None


def _setting(arguments: argparse.Namespace, report: Report) -> Setting:
    from spirloom.commands.model_options import arrays_of
    from spirloom.debug.bisection import Setting
    from spirloom.debug.inputs import at_sizes
    from spirloom.debug.model_comparison import default_oracle
    from spirloom.debug.oracles import Oracle
    from spirloom.formats.options import Format
    from spirloom.formats.readers import format_of
    from spirloom.op_library import OpLibrary

    comparer = compare_model.comparer_of(arguments, report)
    library = OpLibrary.with_dirs(arguments.spec_dir)
    given = arrays_of(arguments.input)
    sizes = compare_model.sizes_of(arguments)

    def reimport(variation: Variation) -> Graph:
        changed = argparse.Namespace(**vars(arguments))
        changed.skip_pass = [*arguments.skip_pass, *variation.skip]
        changed.no_optimize = arguments.no_optimize or not variation.all_passes
        if variation.exact:
            changed.fp16, changed.quantize = False, None
            changed.keep_float32, changed.quantize_skip = [], []
        graph = compare_model.read_graph(changed, library, report)
        return at_sizes(graph, library, given, sizes)

    oracle = arguments.oracle
    return Setting(
        source=arguments.model,
        graph=comparer.graph,
        inputs=comparer.inputs,
        library=library,
        options=compare_model.device_options(arguments),
        oracle=default_oracle(arguments.model) if oracle is None else Oracle(oracle),
        reimport=None if compare_model.is_graph_file(arguments.model) else reimport,
        has_passes=format_of(arguments.model) is not Format.LANGUAGE_MODEL,
        is_narrowed=arguments.fp16 or arguments.quantize is not None,
        tolerance=arguments.tolerance,
    )


def _lines(found: Finding, written: Path | None, script: Path | None) -> list[str]:
    from spirloom.terminal import shown

    lines = _table(found.experiments)
    lines += map(shown, compare_model.verdict(found.comparison))
    if found.kind != "none":
        lines += ["", shown(f"{found.kind}: {found.text}")]
    if written is not None and found.reproducer is not None:
        count = len(found.reproducer.nodes)
        nodes = "1 node" if count == 1 else f"{count} nodes"
        lines.append(f"Reproducer: {written}, {nodes}. Run it: spirloom run {written} --check")
    if script is not None:
        lines.append(f"Amber script of its dispatches, for engineers of the driver: {script}")
    return lines


def _table(experiments: Sequence[Experiment]) -> list[str]:
    if not experiments:
        return []
    width = max(len(each.name) for each in experiments)
    return [_line(each, width) for each in experiments] + [""]


def _line(each: Experiment, width: int) -> str:
    if each.error is None:
        return f"{each.name:{width}}  did not run: {each.note}"
    verdict = "right" if each.is_right else "WRONG"
    return f"{each.name:{width}}  {verdict}  {each.error:.2e}  {each.note}".rstrip()


def _described(found: Finding, written: Path | None, script: Path | None) -> dict[str, object]:
    return {
        "kind": found.kind,
        "text": found.text,
        "reproducer": None if written is None else str(written),
        "amber": None if script is None else str(script),
        "experiments": [
            {
                "name": each.name,
                "ran": each.error is not None,
                "right": each.is_right,
                "relative": each.error
                if each.error is not None and math.isfinite(each.error)
                else None,
                "note": each.note,
            }
            for each in found.experiments
        ],
        "comparison": compare_model.described(found.comparison),
    }
