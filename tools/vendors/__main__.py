"""Compiles every variant with the compilers of GPU vendors, which need no GPU.

Checks that they accept every variant, and that no kernel for GPUs spills registers. build/vendors/
gets a table of each compiler: registers, spills, occupancy, instructions of each variant; the pages
of the documentation and `spirloom ops --html` show them. What a change of kernels does to them:
`./dev shader-diff BASE --vendor COMPILER`.
RDNA 4 is compiled by a newer Mesa than the distribution's, from Debian's backports (11 MB, unpacked
below build/). Adreno, Intel, Mali and NVIDIA GPUs need parts of Mesa that are built from its
source, which takes minutes: only if they are named. Mali's compiler, which takes hours for all
variants, needs --ops.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from spec_model import Library, load_library
from tools.drivers.swiftshader import DriverError
from tools.vendors.families import (
    COMPILERS,
    ROOT,
    Compiled,
    Compiler,
    Family,
    MissingCompilerError,
    VendorError,
    compile_all,
)
from tools.vendors.selection import variants_of
from tools.vendors.spills import known_spills, spilling
from tools.vendors.table import table

TABLES = ROOT / "build" / "vendors"
SKIPPED = 77  # the exit code if no compiler is available


def check_spills(library: Library, compiled: Mapping[Family, Compiled]) -> list[str]:
    """A message for each kernel that spills and is not known to, and for one that is known to and
    does not. No message for versions of Mesa in no table: other compilers spill other kernels.
    """
    problems = []
    for family, each in compiled.items():
        known = known_spills(family, each.driver)
        if known is None:
            continue
        found = list(spilling(library, {family: each}))
        problems += [
            f"{family.name}: {text}. Use fewer registers, or add the kernel to "
            "tools/vendors/spills.py."
            for _, kernel, text in found if kernel not in known
        ] + [
            f"{family.name}: kernel '{kernel}' does not spill. Remove it from "
            "tools/vendors/spills.py."
            for kernel in sorted(known.keys() - {kernel for _, kernel, _ in found})
        ]  # fmt: skip
    return problems


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


def check(library: Library, compiler: Compiler) -> list[str]:
    """Compiles all variants for the families of one driver, and writes their table. Returns what is
    wrong. Raises VendorError or DriverError.
    """
    if compiler.slow:
        raise VendorError(
            f"All variants take hours. Name operators: --only {compiler.name} --ops NAME"
        )
    compiled = compile_all(compiler)
    TABLES.mkdir(parents=True, exist_ok=True)
    file = TABLES / f"{compiler.name}.tsv"
    file.write_text(table(compiled), encoding="utf-8")
    print(f"{summary(library, compiled)}\n{file.relative_to(ROOT)}")
    return check_spills(library, compiled)


def show(library: Library, compiler: Compiler, names: Sequence[str]) -> list[str]:
    """Prints the statistics of some operators or kernels. Returns the variants that spill.

    Raises VendorError or DriverError.
    """
    compiled = compile_all(compiler, variants=variants_of(library, names))
    print(table(compiled), end="")
    print(summary(library, compiled))
    return [f"{family.name}: {text}" for family, _kernel, text in spilling(library, compiled)]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev test-vendors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [each.name for each in COMPILERS]
    parser.add_argument(
        "--only", nargs="+", choices=names, metavar="COMPILER", default=names[:2],
        help=f"of {', '.join(names)}; default: {' '.join(names[:2])}",
    )  # fmt: skip
    parser.add_argument(
        "--ops", nargs="+", metavar="NAME", help="only print these operators or kernels"
    )
    arguments = parser.parse_args()
    library = load_library([ROOT / "op_specs"], [ROOT / "templates" / "glsl"])
    problems: list[str] = []
    missing = 0
    try:
        for compiler in (each for each in COMPILERS if each.name in arguments.only):
            try:
                if arguments.ops:
                    problems += show(library, compiler, arguments.ops)
                else:
                    problems += check(library, compiler)
            except MissingCompilerError as error:
                print(f"{compiler.name}: skipped: {error}", file=sys.stderr)
                missing += 1
    except (VendorError, DriverError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for problem in problems:
        print(problem, file=sys.stderr)
    if missing == len(arguments.only):
        return SKIPPED
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
