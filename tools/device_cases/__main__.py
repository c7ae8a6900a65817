"""`./dev bundle --cases [FOLDER]`: every test case of the operators, for another machine.

A folder and a .tar.xz of it. The machine needs a device with its driver, a Vulkan loader, Python
3.9, and nothing else:

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


def make_bundle(build: Path, folder: Path, part: int, parts: int, ops: Sequence[str]) -> int:
    """Fills the folder, which is new; gives how many files of cases it has.

    Parts are of about the same size; `ops` are patterns of operators' short names.
    """
    copy_programs(build, folder, ["op_tests"])
    (folder / "cases").mkdir()
    shutil.copy2(Path(__file__).with_name("check.py"), folder)
    packs = sorted((build / "tests" / "ops" / "op_tests_packs").glob("*.slcases"))
    packs = [path for path in packs if _is_named(path, ops)]
    largest_first = sorted(packs, key=lambda path: (-path.stat().st_size, path.name))
    chosen = largest_first[part - 1 :: parts]
    for path in chosen:
        shutil.copy2(path, folder / "cases")
    return len(chosen)


def _is_named(path: Path, ops: Sequence[str]) -> bool:
    name = path.name.partition(".")[0]
    return not ops or any(fnmatch.fnmatch(name, pattern) for pattern in ops)


def part_of(text: str) -> tuple[int, int]:
    """K/N, from 1/1 on."""
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not K/N, such as 1/2.")
    return int(part), int(parts)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev bundle --cases", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, help="where to (default: dist/)", default=ROOT / "dist"
    )
    parser.add_argument(
        "--part", type=part_of, default=(1, 1), metavar="K/N", help="one of several bundles"
    )
    parser.add_argument(
        "--ops", nargs="+", default=[], metavar="PATTERN", help="only operators such as 'conv*'"
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    name = bundle_name("cases")
    folder = arguments.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    part, parts = arguments.part
    count = make_bundle(arguments.build, folder, part, parts, arguments.ops)
    if not count:
        sys.exit(f"bundle: no operator is named {' or '.join(arguments.ops)}.")
    print(f"{count} files of cases")
    archive(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
