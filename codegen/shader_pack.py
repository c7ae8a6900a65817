"""Reads the SPIR-V modules of a shader pack (runtime/pack/pack_format.h)."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator

PACK_MAGIC = b"SLPK"
PACK_VERSION = 10
READABLE_VERSIONS = (8, 9, PACK_VERSION)  # with the same tables of variants and modules
_HEADER = struct.Struct("<4s I Q Q 8I 8x")
# Offset of the name, index of the module, minor version of Vulkan.
_VARIANT = struct.Struct("<16x I I 26x B 13x")
_MODULE = struct.Struct("<Q I I I 4x Q")
_CODEC_RAW, _CODEC_ZSTD = 0, 1


class InvalidInputError(Exception):
    """A file that is not a readable pack or module. The message names it."""


def pack_modules(data: bytes, source: str) -> Iterator[tuple[bytes, list[str]]]:
    """Each module of a pack, with the ids of its variants. `source` names the pack in errors."""
    for at, what, names in _modules(data, source):
        yield _module(data, at, what), names


def module_of(data: bytes, variant: str, source: str) -> bytes | None:
    """The module of a variant; None if the pack does not have the variant."""
    for at, what, names in _modules(data, source):
        if variant in names:
            return _module(data, at, what)
    return None


def module_digests(data: bytes, source: str) -> dict[str, int]:
    """The digest of the module of each variant of a pack: XXH64 of the SPIR-V."""
    found: dict[str, int] = {}
    for at, what, names in _modules(data, source):
        try:
            digest = _MODULE.unpack_from(data, at)[-1]
        except struct.error as error:
            raise InvalidInputError(f"{what} is damaged: {error}.") from None
        found |= dict.fromkeys(names, digest)
    return found


def vulkan_minors(data: bytes, source: str) -> dict[str, int]:
    """The minor version of Vulkan that each variant of a pack is compiled for."""
    variants, _, _ = _tables(data, source)
    return {name: minor for name, _, minor in variants}


def _modules(data: bytes, source: str) -> Iterator[tuple[int, str, list[str]]]:
    """Of each module the offset of its row, its name in errors, and the ids of its variants."""
    variants, modules, modules_at = _tables(data, source)
    names: dict[int, list[str]] = defaultdict(list)
    for name, module, _ in variants:
        names[module].append(name)
    for i in range(modules):
        yield modules_at + i * _MODULE.size, f"Module {i} of {source}", names[i]


def _tables(data: bytes, source: str) -> tuple[list[tuple[str, int, int]], int, int]:
    """Of each variant its id, the index of its module and the minor version of Vulkan; the number
    of modules, and the offset of their rows.
    """
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
    rows = []
    try:
        for i in range(variants):
            name, module, minor = _VARIANT.unpack_from(data, variants_at + i * _VARIANT.size)
            begin = strings_at + name
            rows.append((data[begin : data.index(b"\0", begin)].decode(), module, minor))
    except (struct.error, ValueError) as error:
        raise InvalidInputError(f"{source} is a damaged shader pack: {error}.") from None
    return rows, modules, modules_at


def _module(data: bytes, at: int, what: str) -> bytes:
    try:
        offset, size, raw_size, codec, _ = _MODULE.unpack_from(data, at)
    except struct.error as error:
        raise InvalidInputError(f"{what} is damaged: {error}.") from None
    code = data[offset : offset + size]
    if codec == _CODEC_ZSTD:
        return _decompressed(code, raw_size, what)
    if codec != _CODEC_RAW:
        raise InvalidInputError(f"{what} has unknown codec {codec}.")
    return code


def _decompressed(data: bytes, size: int, what: str) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise InvalidInputError(
            f"{what} is compressed, and Python's zstandard is missing. Install "
            "python3-zstandard or zstandard of PyPI, or read a pack that is built without COMPRESS."
        ) from None
    try:
        return bytes(zstandard.ZstdDecompressor().decompress(data, max_output_size=size))
    except zstandard.ZstdError as error:
        raise InvalidInputError(f"{what} cannot be decompressed: {error}.") from None
