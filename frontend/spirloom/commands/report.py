"""spirloom report: one HTML page about a model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from spirloom.formats.output_files import refuse_input

EPILOG = """\
The page is one file that needs no network and no server. Tabs:
  Graph      zoom, search, modules that open with a double click; colored by time, error, operator,
             dtype or storage
  Timeline   the last recorded run, on host and queue
  Memory     which bytes each activation occupies, and the tensors at the peak
  Kernels    times, bytes, roofline, SPIR-V statistics, and why each kernel was selected
  Partition  segments on device and host (--partition)

It requires igraph for the layout: pip install igraph.

examples:
  spirloom report net.slg -o net.html
  spirloom run net.slg --random --repeat 20 --profile-out net.slprof
  spirloom report net.slg --profile net.slprof --glsl -o net.html
  spirloom compare net.slg half.slg --random --layers --json > errors.json
  spirloom report half.slg --errors errors.json -o half.html
  spirloom partition net.onnx --json > partition.json
  spirloom report net.slg --partition partition.json -o net.html
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "report",
        help="write an HTML page with graph, timeline, memory and kernels",
        description="Writes a self-contained HTML page about a graph file.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", type=Path, metavar="MODEL.slg", help="the graph file")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE.html", help="the page to write"
    )
    parser.add_argument("--method", help="method of the file (default: of the profile, or first)")
    parser.add_argument(
        "--profile", type=Path, metavar="FILE.slprof", help="times, kernels, timeline, memory plan"
    )
    parser.add_argument(
        "--errors",
        type=Path,
        metavar="FILE.json",
        help="relative errors by tensor, of spirloom compare --layers --json",
    )
    parser.add_argument(
        "--partition", type=Path, metavar="FILE.json", help="of spirloom partition --json"
    )
    parser.add_argument(
        "--glsl", action="store_true", help="add the GLSL of the kernels that the profile has"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the page."""
    from spirloom.report.write import Sources, write_report

    for source in (arguments.model, arguments.profile, arguments.errors, arguments.partition):
        refuse_input("-o", arguments.output, source)
    size = write_report(
        arguments.model,
        arguments.output,
        Sources(
            arguments.profile, arguments.errors, arguments.partition, arguments.method,
            arguments.glsl,
        ),
    )  # fmt: skip
    from spirloom.terminal import bytes_text

    print(f"{arguments.output}: {bytes_text(size)}")
    return 0
