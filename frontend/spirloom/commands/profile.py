"""spirloom profile: prints, compares and converts profiles of runs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from spirloom.formats.output_files import refuse_input

DESCRIPTION = """\
Reads profiles (.slprof), which record each dispatch of a model: times over many runs, the reason
for its kernel, bytes and operations, a timeline of the last run, and the memory plan.
"""
EPILOG = """\
record a profile; a second command adds its runs to the file:
  spirloom run net.slg --random --warmup 3 --repeat 20 --profile-out net.slprof

examples:
  spirloom profile show net.slprof
  spirloom profile diff before.slprof after.slprof --fail-above 5%
  spirloom profile export net.slprof --perfetto trace.json
"""
SHOW_EPILOG = """\
columns:
  min, median, p90  ms over the recorded runs
  moved             bytes that the dispatch reads and writes, each tensor once
  roofline %        the time that moved bytes and operations need at the device's peaks, in percent
                    of min. Near 100: the kernel cannot become much faster. Far below: look for
                    another kernel. Above 100: the data came from a cache, or matrix units exceed
                    the fp32 peak. Requires `spirloom-run --peaks` before recording.

examples:
  spirloom profile show net.slprof
  spirloom profile show net.slprof --dispatch 7       why this kernel, and which were rejected
  spirloom profile show net.slprof --sort order --all
  spirloom profile show net.slprof --json | jq '.dispatches[] | select(.percent > 10)'
"""
DIFF_EPILOG = """\
Nodes are matched by name. The limit applies to the GPU time of complete runs and to every node. A
node whose time grows by less than --ignore-below milliseconds does not fail.

exit codes: 0 no regression, 1 a regression or an invalid file, 2 invalid usage

examples:
  spirloom profile diff before.slprof after.slprof
  spirloom profile diff before.slprof after.slprof --fail-above 5%
  spirloom profile diff before.slprof after.slprof --by median --json
"""
EXPORT_EPILOG = """\
A trace contains the last run: the host's phases, the dispatches on the queue, and the bytes of
live activations. Open it at https://ui.perfetto.dev or in chrome://tracing. --perfetto and --chrome
write the same format. FILE can be - for standard output.

examples:
  spirloom profile export net.slprof --perfetto trace.json
  spirloom profile export net.slprof --csv dispatches.csv
  spirloom profile export net.slprof --csv - | column -ts,
"""


def add_parser(commands: Any) -> None:
    """Adds the group and its subcommands."""
    group = _subparser(commands, "profile", "print, compare and convert profiles", EPILOG)
    group.description = DESCRIPTION
    subcommands = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_show(subcommands)
    _add_diff(subcommands)
    _add_export(subcommands)


def _subparser(commands: Any, name: str, what: str, epilog: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def _add_show(commands: Any) -> None:
    parser = _subparser(commands, "show", "print the tables of a profile", SHOW_EPILOG)
    parser.add_argument("profile", type=Path, metavar="FILE.slprof")
    parser.add_argument(
        "--sort",
        choices=("time", "order"),
        default="time",
        help="slowest dispatch first (default), or in order of execution",
    )
    parser.add_argument("--all", action="store_true", help="all dispatches (default: 20)")
    parser.add_argument("--wide", action="store_true", help="complete names (default: 40 letters)")
    parser.add_argument(
        "--dispatch", type=int, metavar="N", help="everything about one dispatch, and its reasons"
    )
    parser.add_argument("--json", action="store_true", help="print JSON; times in ms, sizes in B")
    parser.set_defaults(run=_show)


def _add_diff(commands: Any) -> None:
    parser = _subparser(commands, "diff", "compare the times of two profiles", DIFF_EPILOG)
    parser.add_argument("before", type=Path, metavar="BEFORE.slprof")
    parser.add_argument("after", type=Path, metavar="AFTER.slprof")
    parser.add_argument(
        "--by",
        choices=("min", "median", "p90"),
        default="min",
        help="the statistic to compare (default: min, which varies least)",
    )
    parser.add_argument(
        "--fail-above",
        type=percent,
        metavar="PERCENT",
        help="exit with 1 if the total or a node became slower by more, e.g. 5%%",
    )
    parser.add_argument(
        "--ignore-below",
        type=float,
        default=0.01,
        metavar="MS",
        help="slower by less than this is not a regression (default: %(default)s ms)",
    )
    parser.add_argument("--all", action="store_true", help="all changed nodes (default: 20)")
    parser.add_argument("--json", action="store_true", help="print JSON; times in ms")
    parser.set_defaults(run=_diff)


def _add_export(commands: Any) -> None:
    parser = _subparser(commands, "export", "write a trace or CSV", EXPORT_EPILOG)
    parser.add_argument("profile", type=Path, metavar="FILE.slprof")
    for option, what in (
        ("--perfetto", "a trace for Perfetto"),
        ("--chrome", "a trace for chrome://tracing"),
        ("--csv", "a line per dispatch"),
    ):
        parser.add_argument(option, metavar="FILE", help=what)
    parser.set_defaults(run=_export, usage=parser.error)


def percent(text: str) -> float:
    """A percentage: 5, 5% or 2.5%."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a percentage such as 5%")
    return value


def _show(arguments: argparse.Namespace) -> int:
    from spirloom.errors import ImportFailure
    from spirloom.profile_file import read_profile
    from spirloom.profiling import tables
    from spirloom.profiling.dispatch_text import dispatch_text

    profile = read_profile(arguments.profile)
    if arguments.dispatch is not None and not 0 <= arguments.dispatch < len(profile.dispatches):
        raise ImportFailure(
            f"--dispatch {arguments.dispatch} does not exist: the profile has "
            f"{len(profile.dispatches)} dispatches, from 0 on."
        )
    if arguments.json:
        print(json.dumps(tables.as_json(profile), indent=2))
    elif arguments.dispatch is not None:
        print(dispatch_text(profile, arguments.dispatch))
    else:
        print(tables.to_text(profile, 0 if arguments.all else 20, arguments.sort, arguments.wide))
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    from spirloom.profile_file import read_profile
    from spirloom.profiling import diff

    before, after = read_profile(arguments.before), read_profile(arguments.after)
    found = diff.changes(before, after, arguments.by)
    complete = diff.total(before, after, arguments.by)
    failed = []
    if arguments.fail_above is not None:
        failed = diff.regressions(
            found, complete, arguments.fail_above, int(arguments.ignore_below * 1e6)
        )
    if arguments.json:
        print(json.dumps(diff.as_json(found, complete, failed), indent=2))
    else:
        print(diff.to_text(found, complete, 0 if arguments.all else 20))
    if before.device != after.device:
        print(
            f"spirloom: warning: The profiles are of different devices: {before.device} and "
            f"{after.device}.",
            file=sys.stderr,
        )
    for change in failed:
        print(
            f"spirloom: {change.node} is slower by {change.percent:.1f} %, above "
            f"{arguments.fail_above:g} %.",
            file=sys.stderr,
        )
    return 1 if failed else 0


def _export(arguments: argparse.Namespace) -> int:
    from spec_model.files import write_atomically
    from spirloom.errors import writing
    from spirloom.profile_file import read_profile
    from spirloom.profiling import export

    targets = [
        ("--perfetto", arguments.perfetto, export.trace_text),
        ("--chrome", arguments.chrome, export.trace_text),
        ("--csv", arguments.csv, export.csv_text),
    ]
    if not any(file for _, file, _ in targets):
        arguments.usage("one of --perfetto, --chrome and --csv is required")
    for option, file, _ in targets:
        if file is not None:
            refuse_input(option, Path(file), arguments.profile)
    profile = read_profile(arguments.profile)
    for _, file, write in targets:
        if file == "-":
            sys.stdout.write(write(profile))
        elif file:
            with writing(Path(file)):
                write_atomically(Path(file), write(profile).encode())
    return 0
