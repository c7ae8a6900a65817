"""Lists the variants whose SPIR-V changed against another revision.

  ./dev shader-diff main
  ./dev shader-diff HEAD~3 --disassemble
  python3 -m tools.shader_diff old.slpack build/release/generated/spirv

OLD is a git revision, whose shaders are generated and compiled (a few minutes the first time, then
from a cache), a shader pack, or a directory of .spv files; NEW the same (default: the pack of this
build). Debug information does not count. A line is a change that one or several variants share:

  before → after  change  variant (classes of instructions that became more or fewer)

With --vendor, the changed variants of both are compiled for its GPUs, without a GPU:

  variant  family: vgprs 24 → 32, waves 20 → 16

Exit code: 0 equal, 1 different, 2 unreadable input.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Sequence

from codegen.shader_pack import InvalidInputError
from tools.shader_diff.changes import Change, changes, table, unified
from tools.shader_diff.sides import ROOT, Modules, modules_of, path_of
from tools.shader_diff.vendor import COMPILERS, statistics_changes

THIS_BUILD = ROOT / "build/release/generated/shaders.slpack"
_SHOWN = 40


def main(arguments: list[str] | None = None) -> int:
    """Prints the changes. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="./dev shader-diff",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", metavar="OLD", help="a revision, a .slpack, or a directory of .spv")
    parser.add_argument("new", metavar="NEW", nargs="?", default=str(THIS_BUILD))
    parser.add_argument("--only", metavar="GLOB", default="*", help="variants, e.g. 'softmax_*'")
    parser.add_argument(
        "--disassemble", action="store_true", help="also print a diff of the disassembly"
    )
    parser.add_argument("--all", action="store_true", help=f"all changes (default: {_SHOWN})")
    parser.add_argument(
        "--vendor", choices=COMPILERS, help="registers, spills and occupancy (./dev test-vendors)"
    )
    options = parser.parse_args(arguments)
    try:
        sides = (options.old, options.new)
        old, new = (_matching(modules_of(side), options.only) for side in sides)
        found = changes(old, new)
        limit = 0 if options.all else _SHOWN
        different = _report(old, new, found, options.disassemble, limit)
        if options.vendor:
            variants = [each for change in found for each in change.variants]
            packs = path_of(options.old), path_of(options.new)
            lines = statistics_changes(*packs, variants, options.vendor)
            print("\n".join(lines[: limit or None]))
            print(f"{len(lines)} differences of registers, occupancy and instructions.")
        return different
    except InvalidInputError as error:
        print(f"shader-diff: {error}", file=sys.stderr)
        return 2


def _matching(modules: Modules, pattern: str) -> Modules:
    return {name: module for name, module in modules.items() if fnmatch.fnmatch(name, pattern)}


def _report(
    old: Modules, new: Modules, found: Sequence[Change], disassemble: bool, limit: int
) -> int:
    shown = found[:limit] if limit else found
    for change, line in zip(shown, table(shown), strict=True):
        print(line)
        if disassemble:
            print("\n".join(unified(old[change.variants[0]], new[change.variants[0]])))
    if len(found) > len(shown):
        print(f"and {len(found) - len(shown)} more changes; --all lists them")
    for side, names in (("OLD", old.keys() - new.keys()), ("NEW", new.keys() - old.keys())):
        for name in sorted(names)[: limit or None]:
            print(f"only in {side}: {name}")
        if limit and len(names) > limit:
            print(f"only in {side}: and {len(names) - limit} more")
    variants = sum(len(change.variants) for change in found)
    print(f"{variants} of {len(old.keys() & new.keys())} variants changed.")
    return 1 if found or old.keys() != new.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
