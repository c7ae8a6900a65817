"""Compiles, checks and times a kernel with other params, such as tile sizes.

Each combination of the values is a version. The spec and its templates are not modified: the
versions are kernels of a separate operator in an overlay. --key sets keys that depend on the
params, such as `grid` or `when`; {param} and {param[0]} are replaced by the values. Versions that
spill registers on RDNA 2, by the compiler of Mesa's AMD driver, are not timed.

  ./dev sweep mm --kernel tiled_scalar_32x32 --param quads=1,2 \\
      --key "grid=ceil_div(row_count, 32 * {quads}) * ceil_div(columns, 32 * {quads}) * 64" \\
      --call "512x512 512x512 f32"
  ./dev sweep mm --kernel coopmat_64x64 --param "tile=[64, 64, 32],[64, 64, 64]" \\
      --call "2048x2048 2048x2048 f16" --bundle /tmp/tiles   # run sweep.py on the other machine

A call consists of the shapes of the operator's tensors in order (- for an absent one), other
arguments by name (padding=[1,1]), and a dtype. The comment at the start of a template describes its
params.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from spec_model import SpecError
from spec_model.output_errors import handle_output_errors
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
    parser.add_argument("op", help="name of the spec: mm for op_specs/gemm/mm.yaml")
    parser.add_argument(
        "--kernel", required=True, help="kernel of the spec; the prefix mm_ may be omitted"
    )
    parser.add_argument(
        "--param",
        action="append",
        required=True,
        metavar="NAME=VALUE,VALUE",
        help="param and its values; repeat for more",
    )
    parser.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="KEY=TEXT",
        help="key of the kernel that depends on params; repeat for more",
    )
    parser.add_argument(
        "--call", action="append", required=True, help="call to time; repeat for more"
    )
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="DIR",
        help="write a directory for another machine with Python, without running",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument("--device", default="", help="device, as in spirloom-run")
    parser.add_argument("--times", type=int, default=3, help="processes per version (default 3)")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    if arguments.bundle is not None and arguments.bundle.exists():
        parser.error(f"--bundle: '{arguments.bundle}' exists; expected a new directory")
    for option in (*arguments.param, *arguments.key):
        if "=" not in option:
            parser.error(f"'{option}' is not NAME=VALUE")
    return arguments


def values_of(text: str) -> list[Any]:
    """The values of a param: `1,2`, or `[64, 64],[32, 32]`."""
    try:
        found: list[Any] = yaml.safe_load(f"[{text}]")
    except yaml.YAMLError as error:
        raise SystemExit(f"sweep: '{text}' is not a list of values: {error}") from None
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


@handle_output_errors
def main() -> int:
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="spirloom-sweep-") as scratch:
        directory = arguments.bundle or Path(scratch) / "sweep"
        work = Path(scratch) / "work"
        work.mkdir()
        make_sweep(main_request(arguments), arguments.call, arguments.build, directory, work)
        if arguments.bundle is not None:
            print(f"{directory}: run python3 sweep.py in it to time the versions")
            return 0
        command: list[str | Path] = [sys.executable, directory / "sweep.py"]
        command += ["--times", str(arguments.times), "--device", arguments.device]
        command += ["--json", arguments.json] if arguments.json else []
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SpecError as error:
        sys.exit(f"sweep: {error}")
