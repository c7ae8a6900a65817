"""Compares the SPIR-V modules of two builds by content, without the names of their variants.

  python3 -m tools.compare_shaders OLD NEW

OLD and NEW are shader packs (`.slpack`) or directories of `.spv` files, as spirloom-shaderc
--extract writes them. Debug information (OpName, OpSource, OpLine and so on) is ignored. The
program lists the modules that only one side contains, and modules whose number of variants differs.
With identical modules after a rename of kernels, only names changed. Image dimensions and
workgroup sizes are normalized in a pack, but not in extracted files: compare packs with packs.
Exit code: 0 equal, 1 different, 2 unreadable input.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from array import array
from collections import defaultdict
from pathlib import Path

from codegen.shader_pack import InvalidInputError, pack_modules
from codegen.spirv_statistics import HEADER_WORDS, instructions

# OpSourceContinued, OpSource, OpSourceExtension, OpName, OpMemberName, OpString, OpLine, OpNoLine,
# OpModuleProcessed
_DEBUG_OPCODES = frozenset((2, 3, 4, 5, 6, 7, 8, 317, 330))
_SHOWN_VARIANTS = 4

# The ids of the variants of each module, by the module's digest.
Modules = dict[str, list[str]]


def without_debug_information(module: bytes) -> bytes:
    """The module without its debug instructions. Raises ValueError if it is not SPIR-V."""
    kept = array("I")
    for words in instructions(module):
        if words[0] & 0xFFFF not in _DEBUG_OPCODES:
            kept += words
    return module[: 4 * HEADER_WORDS] + kept.tobytes()


def digest(module: bytes, source: str) -> str:
    """The SHA-256 of a module without debug information; `source` names it in errors."""
    try:
        return hashlib.sha256(without_debug_information(module)).hexdigest()
    except ValueError as error:
        raise InvalidInputError(f"{source} is not a SPIR-V module: {error}.") from None


def read_modules(path: Path) -> Modules:
    """The modules of a pack, or of the .spv files below a directory."""
    found: Modules = defaultdict(list)
    try:
        if path.is_dir():
            files = sorted(path.rglob("*.spv"))
            if not files:
                raise InvalidInputError(f"'{path}' contains no .spv files.")
            for file in files:
                found[digest(file.read_bytes(), f"'{file}'")].append(file.stem)
        else:
            for code, names in pack_modules(path.read_bytes(), f"'{path}'"):
                found[digest(code, f"The module of {', '.join(names)} in '{path}'")] += names
    except OSError as error:
        raise InvalidInputError(f"Cannot read '{path}': {error.strerror}.") from None
    return dict(found)


def _listed(names: list[str]) -> str:
    rest = len(names) - _SHOWN_VARIANTS
    return ", ".join(sorted(names)[:_SHOWN_VARIANTS]) + (f" and {rest} more" if rest > 0 else "")


def differences(old: Modules, new: Modules) -> list[str]:
    """A line for each module that only one side contains, or with different variant counts."""
    lines = [
        f"only in {side}: {key[:16]} ({_listed(modules[key])})"
        for side, modules, other in (("OLD", old, new), ("NEW", new, old))
        for key in sorted(modules.keys() - other.keys(), key=lambda key: min(modules[key]))
    ]
    lines += [
        f"variants: {key[:16]} has {len(old[key])} in OLD ({_listed(old[key])}), "
        f"{len(new[key])} in NEW ({_listed(new[key])})"
        for key in sorted(old.keys() & new.keys())
        if len(old[key]) != len(new[key])
    ]
    return lines


def summary(modules: Modules) -> str:
    return f"{sum(map(len, modules.values()))} variants, {len(modules)} modules"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="compare_shaders",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for side in ("old", "new"):
        parser.add_argument(
            side,
            metavar=side.upper(),
            type=Path,
            help="a .slpack file or a directory of .spv files",
        )
    args = parser.parse_args(arguments)
    try:
        old, new = read_modules(args.old), read_modules(args.new)
    except InvalidInputError as error:
        print(f"compare_shaders: {error}", file=sys.stderr)
        return 2
    lines = differences(old, new)
    for line in lines:
        print(line)
    same = len(old.keys() & new.keys())
    print(f"OLD: {summary(old)}\nNEW: {summary(new)}\n{same} modules are on both sides.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
