"""spirloom partition: which nodes of a model run on the device, and which on the host."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spirloom.commands.model_options import add_model_options, options_of
from spirloom.errors import ImportFailure
from spirloom.formats.options import Format
from spirloom.formats.readers import arrays_of, program_options, shapes_of

if TYPE_CHECKING:
    from spirloom.op_library import OpLibrary
    from spirloom.partition import Report

EPILOG = """\
examples:
  spirloom partition detector.onnx
  spirloom partition detector.onnx --dim batch=1 --json | jq .operators
  spirloom partition net.pt2 --full && spirloom import net.pt2 -o net.slg

  segment  where   nodes        in      out  operators
  0        device     88  602.1 kB   2.1 MB  Conv 52, LeakyRelu 32, Concat 4
  1        host        7    2.1 MB    400 B  NonMaxSuppression, Gather 4, Unsqueeze 2

  on the host
    NonMaxSuppression, /head/nms: its output size depends on the data; …

spirloom.onnx.load("detector.onnx") in Python runs such a model: page 'Partition a model between
device and host' of the documentation.
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "partition",
        help="report which nodes of a model run on the device, and why others do not",
        description="Partitions a model. Prints its segments in execution order, the operators on "
        "device and host, and the reason for each node on the host.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="the model: .onnx or .pt2")
    parser.add_argument("--json", action="store_true", help="print JSON; sizes in bytes")
    parser.add_argument(
        "--full", action="store_true", help="exit with 1 unless every node runs on the device"
    )
    add_model_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the report."""
    from spirloom.op_library import OpLibrary
    from spirloom.partition.report import summary, to_text
    from spirloom.torch.archive import is_archive

    library = OpLibrary.with_dirs(arguments.spec_dir)
    report_of = _of_archive if is_archive(arguments.model) else _of_onnx
    report = report_of(arguments, library)
    if arguments.json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        print(to_text(report, str(arguments.model)))
    if arguments.full and not report.is_full:
        raise ImportFailure(f"--full: {summary(report, str(arguments.model))}")
    return 0


def _of_onnx(arguments: argparse.Namespace, library: OpLibrary) -> Report:
    from spirloom.onnx.importer import read
    from spirloom.onnx.partition.partitioner import Options, partition_model

    chosen = options_of(arguments)
    for symbol in chosen.symbols():
        raise ImportFailure(
            f"--dim {symbol.name} must be one size: an ONNX model is partitioned for fixed sizes. "
            f"Use --dim {symbol.name}={symbol.max}."
        )
    shapes, fixed = shapes_of(chosen).with_dims({}), arrays_of(chosen)
    model, shapes = read(arguments.model, shapes, fixed, chosen.float64_as_float32)
    options = Options(library, shapes, constants_limit=chosen.constants_limit)
    return partition_model(arguments.model, model, options, lambda graph: None).report


def _of_archive(arguments: argparse.Namespace, library: OpLibrary) -> Report:
    from spirloom.torch.archived_program import read_archive
    from spirloom.torch.partition import report_of

    chosen = options_of(arguments)  # checked before reading a large file
    chosen.refuse_unread(Format.ARCHIVE)
    options = program_options(chosen)
    return report_of(read_archive(arguments.model), library, options)
