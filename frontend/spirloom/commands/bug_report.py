"""spirloom bug-report: one archive for an issue."""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from pathlib import Path
from typing import Any

from spirloom.commands import compare_model
from spirloom.errors import ImportFailure
from spirloom.formats.output_files import refuse_input

EPILOG = """\
examples:
  spirloom bug-report                                the environment only
  spirloom bug-report net.slg --random
  spirloom bug-report net.onnx --input x=x.npy -o report.zip

The archive contains, each as a file, the outputs of: doctor; inspect --nodes; spirloom-run with
--plan, --profile and --validation; compare --with reference --layers; verify, whose verdicts are
not stored; and a replay of the run (run --record), with synthetic weights unless --with-weights is
given. Without a model, the stored verdicts of verify. Inputs are included. CONTENTS.txt lists all
members with their commands. Nothing is sent: attach the archive to an issue.
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "bug-report",
        help="gather versions, plan, profile and a replay of a run in one archive for an issue",
        description="Writes one archive with what an issue about a wrong result, an error or a "
        "slow model needs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compare_model.add_model_argument(
        parser,
        "a graph file, or a model that `spirloom import` reads without options",
        optional=True,
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("spirloom-bug-report.zip"),
        metavar="FILE.zip",
        help="the archive to write (default: %(default)s)",
    )
    parser.add_argument(
        "--input", action="append", default=[], metavar="NAME=FILE.npy", help="an input's value"
    )
    parser.add_argument("--random", action="store_true", help="random values for all other inputs")
    parser.add_argument("--device", help="index, name or uuid of the device")
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="FILE.slpack",
        help="a shader library whose operators replace those of the same name",
    )
    parser.add_argument(
        "--with-weights", action="store_true", help="include the model's weights in the replay"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs all parts and writes the archive. Prints the list of contents."""
    from spirloom import __version__
    from spirloom.debug.bug_report import contents, parts_of, run_part
    from spirloom.debug.replay import write_archive
    from spirloom.terminal import Progress, shown

    if arguments.model is not None and not arguments.model.exists():
        raise ImportFailure(f"Cannot read {arguments.model}: No such file or directory.")
    refuse_input("-o", arguments.output, arguments.model)
    inputs = [text for value in arguments.input for text in ("--input", value)]
    inputs += ["--random"] if arguments.random else []
    device = ["--device", arguments.device] if arguments.device is not None else []
    device += [text for value in arguments.override for text in ("--override", value)]
    with tempfile.TemporaryDirectory() as directory, Progress("bug report") as progress:
        out = Path(directory)
        model = arguments.model
        if model is not None and not compare_model.is_graph_file(model):
            progress("importing")
            model = _imported(model, out)
        results = []
        for part in parts_of(model, inputs, device, arguments.with_weights, out):
            progress(part.name)
            results.append(run_part(part, out))
    text = contents(results, f"Bug report of Spirloom {__version__}")
    members = {"CONTENTS.txt": text.encode()}
    members |= {each.part.name: each.data for each in results if each.data is not None}
    write_archive(arguments.output, members)
    for line in text.splitlines():
        print(shown(line))
    print(f"\n{arguments.output}: {arguments.output.stat().st_size} bytes")
    return 0


def _imported(model: Path, directory: Path) -> Path:
    """The model as a graph file in a directory."""
    from spirloom.cli import main

    path = directory / f"{model.stem}.slg"
    with contextlib.redirect_stdout(io.StringIO()):
        code = main(["import", str(model), "-o", str(path)])
    if code != 0:
        raise ImportFailure(
            f"{model} was not imported. Report this message, or import it with options and pass "
            "the graph file."
        )
    return path
