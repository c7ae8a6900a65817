"""Compiles every variant with the compilers of GPU vendors, which need no GPU.

Checks that they accept every variant, that no kernel for GPUs spills registers, and that
generated/shader_stats*.tsv (registers, spills, occupancy, instructions of each variant) are up to
date; --update writes the files. RDNA 4 is compiled by a newer Mesa than the distribution's, from
Debian's backports (11 MB, unpacked below build/); --only installed leaves it out. Adreno, Intel,
Mali and NVIDIA GPUs need parts of Mesa that are built from its source, which takes minutes: only by
--only adreno, --only intel, --only mali and --only nvidia.
--ops prints the statistics of some operators' variants in buffers, and compares no file. Mali's
compiler, which takes hours for all variants, needs it.
Each row has the digest of the module that was compiled. --rows compares these digests with the
library, without a compiler: no file may have a row of another module. --drop-stale removes such
rows from the files of Adreno, Intel and NVIDIA GPUs, whose compilers are built on request only;
--missing compiles only the variants without a row, and adds their rows. --complete reports such
variants as an error.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from codegen.shader_pack import module_digests
from spec_model import Library, load_library
from tools.drivers.swiftshader import DriverError
from tools.vendors.families import (
    COMPILERS,
    ROOT,
    Compiled,
    Compiler,
    Family,
    VendorError,
    compile_variants,
)
from tools.vendors.selection import pack_of, pack_of_variants
from tools.vendors.spills import KNOWN, spilling
from tools.vendors.table import (
    Digests,
    difference,
    missing_rows,
    stale_rows,
    table,
    with_rows,
    without_rows,
)

_BUILD = ROOT / "build" / "release"
PROGRAM = _BUILD / "bin" / "spirloom-shader-stats"
PACK = _BUILD / "generated" / "shaders.slpack"
_MAX_LINES = 40


def check_spills(
    library: Library, compiled: Mapping[Family, Compiled], *, every: bool = True
) -> list[str]:
    """A message for each kernel that spills and is not in KNOWN; if `every` variant is compiled,
    also for one that is there without spilling.
    """
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
        if every and family in names
    ]


def check_file(file: Path, text: str) -> list[str]:
    """The differences of `text` to the committed file, unless another driver made that."""
    committed = file.read_text(encoding="utf-8")
    if committed == text:
        return []
    if committed.split("\n", 1)[0] != text.split("\n", 1)[0]:
        print(f"Not compared with {file.name}, which is from another driver: "
              f"{committed.split('. ', 1)[0].removeprefix('# ')}.")  # fmt: skip
        return []
    lines = difference(committed, text)
    shown = lines[:_MAX_LINES]
    if len(lines) > len(shown):
        shown.append(f"… and {len(lines) - len(shown)} more.")
    return [
        *shown,
        f"generated/{file.name} is out of date. Run ./dev test-vendors --update, review the "
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


def check_rows(
    compiler: Compiler, digests: Digests, *, drop: bool, complete: bool = False
) -> list[str]:
    """Compares the rows of a file with the modules of the library; `drop` removes the stale ones of
    a compiler that is built. Returns what is wrong; if the file must be `complete`, also that it
    lacks rows.
    """
    file = ROOT / "generated" / compiler.file
    text = file.read_text(encoding="utf-8")
    stale = stale_rows(text, digests)
    if drop and stale and compiler.built:
        text = without_rows(text, set(stale))
        file.write_text(text, encoding="utf-8")
        print(f"{file.name}: removed {len(stale)} rows of changed modules")
        stale = []
    remedy = f"./dev test-vendors --only {compiler.name} --update --missing"
    problems: list[str] = []
    missing = missing_rows(text, digests)
    if missing:
        lacks = f"{len(missing)} of {len(digests)} variants have no row ({_listed(missing)})"
        if complete:
            problems.append(f"generated/{file.name}: {lacks}: {remedy} compiles them.")
        else:
            print(f"{file.name}: {lacks}; {remedy} compiles them")
    if stale:
        either = f"{remedy} compiles them" + (
            ", ./dev update removes them" if compiler.built else ""
        )
        problems.append(
            f"generated/{file.name} has {len(stale)} rows of other modules ({_listed(stale)}): "
            f"{either}."
        )
    return problems


def _listed(names: Sequence[str]) -> str:
    """The first names."""
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def check(
    library: Library, compiler: Compiler, program: Path, digests: Digests, *, update: bool
) -> list[str]:
    """Compiles the variants for the families of one driver; `update` writes its file. Returns what
    is wrong. Raises VendorError or DriverError.
    """
    driver = compiler.driver()
    compiled = {each: compile_variants(program, each, driver) for each in compiler.families}
    print(summary(library, compiled))
    file = ROOT / "generated" / compiler.file
    text = table(compiled, digests)
    if update:
        file.write_text(text, encoding="utf-8")
    return check_spills(library, compiled) + ([] if update else check_file(file, text))


def add_missing(library: Library, compiler: Compiler, program: Path, digests: Digests) -> list[str]:
    """Compiles the variants that have no row of their module in the driver's file, and writes it.
    Returns the errors found. Raises VendorError or DriverError.
    """
    file = ROOT / "generated" / compiler.file
    text = file.read_text(encoding="utf-8")
    text = without_rows(text, set(stale_rows(text, digests)))
    missing = missing_rows(text, digests)
    if not missing:
        print(f"{file.name}: all {len(digests)} variants have a row")
        return []
    driver = compiler.driver()
    with tempfile.TemporaryDirectory() as directory:
        pack = pack_of_variants(library, set(missing), Path(directory))
        found = module_digests(pack.read_bytes(), f"'{pack}'")
        if found != {variant: digests[variant] for variant in missing}:
            raise VendorError("The shaders of the build are not those of the specs: ./dev build")
        compiled = {
            each: compile_variants(program, each, driver, ["--library", str(pack)])
            for each in compiler.families
        }
    print(summary(library, compiled))
    try:
        file.write_text(with_rows(text, table(compiled, digests)), encoding="utf-8")
    except ValueError:
        remedy = f"./dev test-vendors --only {compiler.name} --update"
        return [f"generated/{file.name} is from another driver: {remedy} compiles all variants."]
    return check_spills(library, compiled, every=False)


def show(library: Library, compiler: Compiler, program: Path, names: Sequence[str]) -> list[str]:
    """Prints the statistics of some operators or kernels. Returns the variants that spill.

    Raises VendorError or DriverError.
    """
    driver = compiler.driver()
    with tempfile.TemporaryDirectory() as directory:
        pack = pack_of(library, names, Path(directory))
        digests = module_digests(pack.read_bytes(), f"'{pack}'")
        compiled = {
            each: compile_variants(program, each, driver, ["--library", str(pack)])
            for each in compiler.families
        }
    print(table(compiled, digests), end="")
    print(summary(library, compiled))
    return [f"{family.name}: {text}" for family, _kernel, text in spilling(library, compiled)]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev test-vendors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--update", action="store_true", help="write generated/shader_stats*.tsv")
    parser.add_argument(
        "--only", choices=[each.name for each in COMPILERS], help="the driver of one Mesa"
    )
    parser.add_argument(
        "--ops", nargs="+", metavar="NAME", help="only print these operators or kernels"
    )
    parser.add_argument(
        "--missing", action="store_true", help="with --update: only add the rows that are missing"
    )
    parser.add_argument("--rows", action="store_true", help="only check the digests of the rows")
    parser.add_argument(
        "--drop-stale", action="store_true", help="with --rows: remove rows of changed modules"
    )
    parser.add_argument(
        "--complete", action="store_true", help="with --rows: a missing row is an error"
    )
    parser.add_argument("--program", type=Path, default=PROGRAM, help="spirloom-shader-stats")
    parser.add_argument("--pack", type=Path, default=PACK, help="the shader pack of the library")
    arguments = parser.parse_args()
    if arguments.missing and not arguments.update:
        parser.error("--missing requires --update.")
    problems: list[str] = []
    try:
        digests = module_digests(arguments.pack.read_bytes(), f"'{arguments.pack}'")
        if arguments.rows:
            for compiler in COMPILERS:
                if compiler.file:
                    problems += check_rows(
                        compiler, digests, drop=arguments.drop_stale, complete=arguments.complete
                    )
        else:
            problems = _compile(arguments, digests)
    except (VendorError, DriverError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _compile(arguments: argparse.Namespace, digests: Digests) -> list[str]:
    library = load_library([ROOT / "op_specs"], [ROOT / "templates" / "glsl"])
    problems: list[str] = []
    for compiler in COMPILERS:
        if compiler.built if arguments.only is None else arguments.only != compiler.name:
            continue
        if arguments.ops:
            problems += show(library, compiler, arguments.program, arguments.ops)
        elif not compiler.file:
            raise VendorError(
                f"All variants take hours. Name operators: --only {compiler.name} --ops NAME"
            )
        elif arguments.missing:
            problems += add_missing(library, compiler, arguments.program, digests)
        else:
            problems += check(
                library, compiler, arguments.program, digests, update=arguments.update
            )
    return problems


if __name__ == "__main__":
    sys.exit(main())
