"""Tries a kernel with other params, such as tile sizes: compiles, checks and times each version.

The spec and its templates stay as they are: versions are kernels of an operator of their own, in an
overlay. Every combination of the values is a version. What else in a kernel follows from its params
(its grid, what it computes when) is given by --key, with {param} or {param[0]} in it.

  ./dev sweep mm --kernel shared_32 --param quads=1,2 \\
      --key "grid=ceil_div(row_count, 32 * {quads}) * ceil_div(columns, 32 * {quads}) * 64" \\
      --call "512x512 512x512 f32"
  ./dev sweep mm --kernel matrix_64 --param "tile=[64, 64, 32],[64, 64, 64]" \\
      --call "2048x2048 2048x2048 f16" --bundle /tmp/tiles   # then, there: python3 sweep.py

A call is the operator's tensors in order, as shapes, - for one that is absent, other arguments by
name (padding=[1,1]), and a dtype. A template's params and what they mean: its opening comment.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from codegen import SpecError
from codegen.closed_pipe import ends_quietly
from tools.sweep.bundle import ROOT, make_sweep
from tools.sweep.overlay import Request


def parse_arguments() -> argparse.Namespace:
    head, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="./dev sweep",
        description=head,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("op", help="the spec: mm for op_specs/mm.yaml")
    parser.add_argument("--kernel", required=True, help="of the spec; block stands for mm_block")
    parser.add_argument(
        "--param",
        action="append",
        required=True,
        metavar="NAME=VALUE,VALUE",
        help="a param and its values; may repeat",
    )
    parser.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="KEY=TEXT",
        help="a key of the kernel that follows from params; may repeat",
    )
    parser.add_argument("--call", action="append", required=True, help="may repeat")
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="DIR",
        help="make a folder for another machine with Python, and run nothing",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results")
    parser.add_argument("--device", default="", help="as spirloom-run takes it")
    parser.add_argument("--times", type=int, default=3, help="processes for each (default 3)")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    if arguments.bundle is not None and arguments.bundle.exists():
        parser.error(f"--bundle makes a folder, and '{arguments.bundle}' exists")
    for option in (*arguments.param, *arguments.key):
        if "=" not in option:
            parser.error(f"'{option}' is no NAME=VALUE")
    return arguments


def values_of(text: str) -> list[Any]:
    """The values of a param: `1,2`, or `[64, 64],[32, 32]`."""
    try:
        found: list[Any] = yaml.safe_load(f"[{text}]")
    except yaml.YAMLError as error:
        raise SystemExit(f"sweep: '{text}' is no list of values: {error}") from None
    return found


def main_request(arguments: argparse.Namespace) -> Request:
    params = (option.partition("=") for option in arguments.param)
    keys = (option.partition("=") for option in arguments.key)
    return Request(
        arguments.op,
        arguments.kernel,
        {name: values_of(values) for name, _, values in params},
        {name: text for name, _, text in keys},
    )


@ends_quietly
def main() -> int:
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="spirloom-sweep-") as scratch:
        folder = arguments.bundle or Path(scratch) / "sweep"
        work = Path(scratch) / "work"
        work.mkdir()
        make_sweep(main_request(arguments), arguments.call, arguments.build, folder, work)
        if arguments.bundle is not None:
            print(f"{folder}: python3 sweep.py there times its versions")
            return 0
        command: list[str | Path] = [sys.executable, folder / "sweep.py"]
        command += ["--times", str(arguments.times), "--device", arguments.device]
        command += ["--json", arguments.json] if arguments.json else []
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SpecError as error:
        sys.exit(f"sweep: {error}")
