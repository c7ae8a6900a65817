"""Compiles every variant with the compilers of GPU vendors, which need no GPU.

Checks that they accept every variant, that no kernel for GPUs spills registers, and that
generated/shader_stats.tsv (registers, spills, occupancy, instructions of each variant) is up to
date; --update writes the file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from spec_model import Library, load_library
from tools.vendors.families import FAMILIES, Compiled, Family, VendorError, compile_variants
from tools.vendors.spills import KNOWN, spilling
from tools.vendors.table import difference, table

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "release" / "bin" / "spirloom-shader-stats"
FILE = ROOT / "generated" / "shader_stats.tsv"
_MAX_LINES = 40


def check_spills(library: Library, compiled: Mapping[Family, Compiled]) -> list[str]:
    """A message for each kernel that spills and is not in KNOWN, or is there without spilling."""
    found: dict[tuple[str, str], list[str]] = {}
    for family, kernel, text in spilling(library, compiled):
        found.setdefault((family.name, kernel), []).append(text)
    known = {(family, kernel) for family, kernels in KNOWN.items() for kernel in kernels}
    names = {family.name for family in compiled}
    return [
        f"{family}: {text}. Use fewer registers, or add the kernel to tools/vendors/spills.py."
        for (family, kernel), texts in sorted(found.items())
        if (family, kernel) not in known
        for text in texts
    ] + [
        f"{family}: kernel '{kernel}' does not spill. Remove it from tools/vendors/spills.py."
        for family, kernel in sorted(known - found.keys())
        if family in names
    ]


def check_file(text: str) -> list[str]:
    """The differences to the committed file, unless another driver made that."""
    committed = FILE.read_text(encoding="utf-8")
    if committed == text:
        return []
    if committed.split("\n", 1)[0] != text.split("\n", 1)[0]:
        print(f"Not compared with {FILE.name}, which is from another driver: "
              f"{committed.split('. ', 1)[0].removeprefix('# ')}.")  # fmt: skip
        return []
    lines = difference(committed, text)
    shown = lines[:_MAX_LINES]
    if len(lines) > len(shown):
        shown.append(f"… and {len(lines) - len(shown)} more.")
    return [
        *shown,
        "generated/shader_stats.tsv is out of date. Run ./dev test-vendors --update, review the "
        "difference and commit it.",
    ]


def summary(library: Library, compiled: Mapping[Family, Compiled]) -> str:
    """A line per family."""
    lines: list[str] = []
    for family, each in compiled.items():
        count = sum(1 for one in each.statistics.values() if one)
        spills = sum(1 for found, _, _ in spilling(library, compiled) if found is family)
        lines.append(
            f"{family.name} ({family.architecture}): {count} of {len(each.statistics)} variants "
            f"compiled, {len(each.statistics) - count} need other hardware, {spills} for GPUs spill"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev test-vendors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--update", action="store_true", help="write generated/shader_stats.tsv")
    parser.add_argument("--program", type=Path, default=PROGRAM, help="spirloom-shader-stats")
    arguments = parser.parse_args()
    library = load_library([ROOT / "op_specs"], [ROOT / "templates" / "glsl"])
    try:
        compiled = {family: compile_variants(arguments.program, family) for family in FAMILIES}
    except VendorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(summary(library, compiled))
    text = table(compiled)
    problems = check_spills(library, compiled)
    if arguments.update:
        FILE.write_text(text, encoding="utf-8")
    else:
        problems += check_file(text)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
