"""Packages all operator test cases for another machine (`./dev bundle --cases [DIR]`).

Writes a directory and a .tar.xz archive of it. The machine requires only a device with its driver,
a Vulkan loader, and Python 3.9:

tar xf spirloom-cases-….tar.xz; python3 spirloom-cases-…/check.py --out cases.json
"""

from __future__ import annotations

import argparse
import fnmatch
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.context import ROOT
from benchmarks.gpu.bundle import archive, bundle_name, copy_programs


def make_bundle(build: Path, directory: Path, part: int, parts: int, ops: Sequence[str]) -> int:
    """Writes the bundle to a new directory, and returns the number of case files.

    Parts have about the same size. `ops` are patterns for short names of operators.
    """
    copy_programs(build, directory, ["op_tests"])
    (directory / "cases").mkdir()
    shutil.copy2(Path(__file__).with_name("check.py"), directory)
    packs = sorted((build / "tests" / "ops" / "op_tests_packs").glob("*.slcases"))
    packs = [path for path in packs if _is_named(path, ops)]
    largest_first = sorted(packs, key=lambda path: (-path.stat().st_size, path.name))
    chosen = largest_first[part - 1 :: parts]
    for path in chosen:
        shutil.copy2(path, directory / "cases")
    return len(chosen)


def _is_named(path: Path, ops: Sequence[str]) -> bool:
    name = path.name.partition(".")[0]
    return not ops or any(fnmatch.fnmatch(name, pattern) for pattern in ops)


def part_of(text: str) -> tuple[int, int]:
    """Parses K/N with 1 ≤ K ≤ N."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not K/N with 1 ≤ K ≤ N, such as 1/2.")
    return int(part), int(parts)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev bundle --cases", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "directory",
        nargs="?",
        type=Path,
        help="parent of the bundle (default: dist/)",
        default=ROOT / "dist",
    )
    parser.add_argument(
        "--part", type=part_of, default=(1, 1), metavar="K/N", help="write part K of N"
    )
    parser.add_argument(
        "--ops", nargs="+", default=[], metavar="PATTERN", help="only these operators, e.g. 'conv*'"
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    name = bundle_name("cases")
    directory = arguments.directory / name
    shutil.rmtree(directory, ignore_errors=True)
    part, parts = arguments.part
    count = make_bundle(arguments.build, directory, part, parts, arguments.ops)
    if not count:
        sys.exit(f"bundle: no operator matches {' or '.join(arguments.ops)}.")
    print(f"{count} case files")
    archive(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
