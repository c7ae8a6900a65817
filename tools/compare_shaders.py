"""Compares the SPIR-V modules of two builds by content, without the names of their variants.

  python3 -m tools.compare_shaders OLD NEW

OLD and NEW are shader packs (`.slpack`) or directories of `.spv` files, as spirloom-shaderc
--extract writes them. Debug information (OpName, OpSource, OpLine and so on) is ignored. The
program lists the modules that only one side contains, and modules whose number of variants differs.
With identical modules after a rename of kernels, only names changed. Image dimensions are
normalized in a pack, but not in extracted files: compare packs with packs.
Exit code: 0 equal, 1 different, 2 unreadable input.
"""

from __future__ import annotations

import argparse
import hashlib
import struct
import sys
from array import array
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

# runtime/pack/pack_format.h
PACK_MAGIC = b"SLPK"
PACK_VERSION = 9
READABLE_VERSIONS = (8, PACK_VERSION)  # with the same tables of variants and modules
_HEADER = struct.Struct("<4s I Q Q 8I 8x")
_VARIANT = struct.Struct("<16x I I 40x")  # offset of the name, index of the module
_MODULE = struct.Struct("<Q I I I 4x Q")
_CODEC_RAW, _CODEC_ZSTD = 0, 1

SPIRV_MAGIC = 0x07230203
_HEADER_WORDS = 5
# OpSourceContinued, OpSource, OpSourceExtension, OpName, OpMemberName, OpString, OpLine, OpNoLine,
# OpModuleProcessed
_DEBUG_OPCODES = frozenset((2, 3, 4, 5, 6, 7, 8, 317, 330))
_SHOWN_VARIANTS = 4

# The ids of the variants of each module, by the module's digest.
Modules = dict[str, list[str]]


class InvalidInputError(Exception):
    """A file that is not a readable pack or module. The message names it."""


def without_debug_information(module: bytes) -> bytes:
    """The module without its debug instructions. Raises ValueError if it is not SPIR-V."""
    words = array("I", module[: len(module) // 4 * 4])
    if len(module) % 4 or len(words) < _HEADER_WORDS or words[0] != SPIRV_MAGIC:
        raise ValueError("it does not have the header of little-endian SPIR-V")
    kept = words[:_HEADER_WORDS]
    at = _HEADER_WORDS
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        if length == 0 or at + length > len(words):
            raise ValueError(f"the instruction at word {at} extends beyond its end")
        if opcode not in _DEBUG_OPCODES:
            kept += words[at : at + length]
        at += length
    return kept.tobytes()


def digest(module: bytes, source: str) -> str:
    """The SHA-256 of a module without debug information; `source` names it in errors."""
    try:
        return hashlib.sha256(without_debug_information(module)).hexdigest()
    except ValueError as error:
        raise InvalidInputError(f"{source} is not a SPIR-V module: {error}.") from None


def decompressed(data: bytes, size: int, source: str) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise InvalidInputError(
            f"{source} is compressed, and Python's zstandard is missing. Install "
            "python3-zstandard, or compare packs that are built without COMPRESS."
        ) from None
    try:
        return bytes(zstandard.ZstdDecompressor().decompress(data, max_output_size=size))
    except zstandard.ZstdError as error:
        raise InvalidInputError(f"{source} cannot be decompressed: {error}.") from None


def pack_modules(data: bytes, source: str) -> Iterator[tuple[bytes, list[str]]]:
    """Each module of a pack, with the ids of its variants."""
    if len(data) < _HEADER.size or data[:4] != PACK_MAGIC:
        raise InvalidInputError(f"{source} is not a shader pack: it does not begin with 'SLPK'.")
    _, version, _, _, variants, modules, variants_at, modules_at, strings_at, *_ = (
        _HEADER.unpack_from(data)
    )
    if version not in READABLE_VERSIONS:
        raise InvalidInputError(
            f"{source} has version {version} of the pack format; expected "
            f"{' or '.join(map(str, READABLE_VERSIONS))}."
        )
    names: dict[int, list[str]] = defaultdict(list)
    try:
        for i in range(variants):
            name, module = _VARIANT.unpack_from(data, variants_at + i * _VARIANT.size)
            begin = strings_at + name
            names[module].append(data[begin : data.index(b"\0", begin)].decode())
        for i in range(modules):
            offset, size, raw_size, codec, _ = _MODULE.unpack_from(
                data, modules_at + i * _MODULE.size
            )
            code = data[offset : offset + size]
            if codec == _CODEC_ZSTD:
                code = decompressed(code, raw_size, f"Module {i} of {source}")
            elif codec != _CODEC_RAW:
                raise InvalidInputError(f"Module {i} of {source} has unknown codec {codec}.")
            yield code, names[i]
    except (struct.error, ValueError) as error:
        raise InvalidInputError(f"{source} is a damaged shader pack: {error}.") from None


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
