"""spirloom run --record, and spirloom replay: one run of a model as one file."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spirloom.commands import compare_model
from spirloom.formats.output_files import refuse_input

if TYPE_CHECKING:
    from spirloom.debug.device_values import DeviceOptions
    from spirloom.debug.metrics import Measured
    from spirloom.debug.replay import Difference, Environment, Recording
    from spirloom.ir import Array

RECORD_EPILOG = """\
examples:
  spirloom run net.slg --input x=x.npy --record run.slreplay
  spirloom run net.onnx --random --record run.slreplay --strip-weights
  spirloom replay run.slreplay --compare

The file contains the graph, inputs, states, results, the libraries of --override, a digest and 64
elements of every intermediate tensor, and the names and versions of device and driver. With
--strip-weights, the model runs with synthetic weights of the same mean, deviation and range, which
need no space in the file. Convert the file to other tools with any zip program.
"""

EPILOG = """\
examples:
  spirloom replay run.slreplay                     are the outputs those of the recording?
  spirloom replay run.slreplay --compare           which node differs first?
  spirloom replay run.slreplay --device llvmpipe --compare
  spirloom replay run.slreplay --repeat 20         are the bits the same in every run?

The run has the recorded storage and kernels, unless options replace them, and with
--with-libraries the libraries of --override.
Exit code 1: an output, or with --compare a node, exceeds the tolerance. Other bits within the
tolerance are reported, and are normal on another device.
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "replay",
        help="repeat a recorded run, here or on another device (spirloom run --record)",
        description="Repeats a run that `spirloom run --record` recorded, and compares the results "
        "with the recorded ones.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE.slreplay")
    parser.add_argument(
        "--compare", action="store_true", help="compare every node, and report the first difference"
    )
    parser.add_argument(
        "--repeat",
        type=int,
        default=1,
        metavar="N",
        help="load and run N times; outputs whose bits change between runs are an error, such as a "
        "race (default: 1)",
    )
    parser.add_argument(
        "--storage",
        choices=["auto", "buffer", "texture3d", "texture2d"],
        help="the storage of tensors (default: as recorded)",
    )
    parser.add_argument(
        "--with-libraries",
        action="store_true",
        help="use the shader libraries in the file, which were given to --override when it was "
        "recorded: GPU code, only from people you trust",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    compare_model.add_device_options(parser, tolerance=False)
    parser.set_defaults(run=run)


def record(arguments: Sequence[str]) -> int:
    """`spirloom run MODEL --record FILE`."""
    from spirloom.debug.replay import record as record_run
    from spirloom.debug.replay import save
    from spirloom.terminal import Progress, shown

    options = record_parser().parse_args(arguments)
    refuse_input("--record", options.record, options.model)
    with Progress(str(options.model)) as progress:
        comparer = compare_model.comparer_of(options, progress)
        progress("running")
        made = record_run(
            comparer.graph,
            comparer.inputs,
            compare_model.device_options(options),
            strip_weights=options.strip_weights,
            layers=not options.outputs_only,
        )
        save(made, options.record)
    size = options.record.stat().st_size
    print(
        shown(
            f"{options.record}: {len(made.nodes)} tensors of {len(made.graph.nodes)} nodes, "
            f"{len(made.outputs)} outputs, {size} bytes, on {made.environment.device}"
        )
    )
    return 0


def record_parser() -> argparse.ArgumentParser:
    """The parser of the arguments of `spirloom run`."""
    parser = argparse.ArgumentParser(
        prog="spirloom run",
        description="Runs a model once and records the run in one file.",
        epilog=RECORD_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compare_model.add_model_argument(parser)
    parser.add_argument(
        "--record", type=Path, required=True, metavar="FILE.slreplay", help="the file to write"
    )
    parser.add_argument(
        "--strip-weights", action="store_true", help="replace the weights by synthetic ones"
    )
    parser.add_argument(
        "--outputs-only", action="store_true", help="do not record intermediate tensors"
    )
    compare_model.add_input_options(parser)
    compare_model.add_device_options(parser, tolerance=False)
    compare_model.add_import_group(parser)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Repeats the run. Returns 1 if a result exceeds its tolerance."""
    from spirloom.debug import replay

    recording = replay.load(arguments.file)
    with tempfile.TemporaryDirectory() as directory:
        recorded: tuple[Path, ...] = ()
        if arguments.with_libraries:
            recorded = replay.extract_libraries(recording, Path(directory))
        elif recording.libraries:
            print(_unused_libraries(arguments.file, len(recording.libraries)), file=sys.stderr)
        options = _options(arguments, recording, recorded)
        with options.runtime() as runtime:
            here = replay.environment_of(runtime, options)
            found = replay.run_outputs(runtime, recording.graph, recording.inputs, options)
            outputs = replay.compare_outputs(found, recording.outputs)
            unstable = _unstable(
                found,
                (
                    replay.run_outputs(runtime, recording.graph, recording.inputs, options)
                    for _ in range(arguments.repeat - 1)
                ),
            )
            nodes = None
            if arguments.compare:
                records = replay.node_records(runtime, recording.graph, recording.inputs, options)
                nodes = replay.compare_nodes(records, recording.nodes)
    if arguments.json:
        print(json.dumps(_described(recording, here, outputs, nodes, unstable), indent=2))
    else:
        print("\n".join(_lines(recording, here, outputs, nodes)))
        for name, count in unstable.items():
            print(f"output {name}: other bits in {count} of {arguments.repeat} runs")
    wrong = [measured for _, measured in outputs if measured.wrong]
    wrong += [each.measured for each in nodes or () if each.measured.wrong]
    return 1 if wrong or unstable else 0


def _unused_libraries(file: Path, count: int) -> str:
    what = "1 shader library" if count == 1 else f"{count} shader libraries"
    return (
        f"{file}: the recording used {what}, which this run does not. --with-libraries uses "
        "what the file contains; GPU code can do more than compute wrong values."
    )


def _unstable(first: Mapping[str, Array], others: Iterable[Mapping[str, Array]]) -> dict[str, int]:
    """The outputs whose bits differ from those of the first run, with the number of such runs."""
    found: dict[str, int] = {}
    for run in others:
        for name, array in run.items():
            if array.tobytes() != first[name].tobytes():
                found[name] = found.get(name, 0) + 1
    return found


def _options(
    arguments: argparse.Namespace, recording: Recording, libraries: tuple[Path, ...]
) -> DeviceOptions:
    storage = recording.storage if arguments.storage is None else arguments.storage
    options = compare_model.device_options(
        argparse.Namespace(**{**vars(arguments), "storage": storage})
    )
    return replace(
        options,
        kernels=options.kernels or recording.kernels,
        overrides=(*libraries, *options.overrides),
    )


Outputs = Sequence[tuple[str, "Measured"]]


def _lines(
    recording: Recording,
    here: Environment,
    outputs: Outputs,
    nodes: Sequence[Difference] | None,
) -> list[str]:
    from spirloom.terminal import shown

    lines = _changes(recording.environment, here)
    for name, measured in outputs:
        verdict = "WRONG" if measured.wrong else "equal" if measured.max_abs == 0 else "close"
        lines.append(shown(f"output {name}: {verdict}, relative error {measured.relative:.2e}"))
    if nodes is None:
        return lines
    lines.append(f"{len(recording.nodes) - len(nodes)} of {len(recording.nodes)} nodes are equal.")
    wrong = [each for each in nodes if each.measured.wrong]
    for what, found in (("other bits", nodes), ("above the tolerance", wrong)):
        if found:
            lines.append(shown(f"First {what}: {_difference(found[0])}"))
    return lines


def _difference(each: Difference) -> str:
    kernels = ", ".join(each.kernels) or "a view"
    before = ", ".join(each.recorded_kernels) or "a view"
    changed = "" if kernels == before else f", recorded with {before}"
    return f"{each.recorded} ({kernels}{changed}), relative error {each.measured.relative:.2e}"


def _changes(recorded: Environment, here: Environment) -> list[str]:
    """The facts of the environment, and which of them differ from the recorded ones."""
    lines = []
    for title in ("spirloom", "device", "driver", "api_version", "shaders"):
        before, now = getattr(recorded, title), getattr(here, title)
        short = 16 if title == "shaders" else 80
        same = f"{title} {now[:short]}"
        lines.append(same if before == now else f"{same}, recorded with {before[:short]}")
    return lines


def _described(
    recording: Recording,
    here: Environment,
    outputs: Outputs,
    nodes: Sequence[Difference] | None,
    unstable: Mapping[str, int],
) -> dict[str, object]:
    from dataclasses import asdict

    finite = compare_model.finite
    return {
        "recorded": asdict(recording.environment),
        "here": asdict(here),
        "outputs": [
            {"name": name, "relative": finite(each.relative), "wrong": each.wrong}
            for name, each in outputs
        ],
        "unstable": dict(unstable),
        "nodes": None
        if nodes is None
        else [
            {
                "node": each.recorded,
                "kernels": list(each.kernels),
                "recorded_kernels": list(each.recorded_kernels),
                "relative": finite(each.measured.relative),
                "wrong": each.measured.wrong,
            }
            for each in nodes
        ],
    }
