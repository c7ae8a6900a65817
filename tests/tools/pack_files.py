"""Shader packs for tests (runtime/pack/pack_format.h), without a registry."""

from __future__ import annotations

import struct

from codegen.shader_pack import PACK_VERSION


def pack(modules: dict[str, bytes]) -> bytes:
    """A pack with a module for each variant, for Vulkan 1.1."""
    strings = b"".join(name.encode() + b"\0" for name in modules)
    variants_at, modules_at = 64, 64 + 64 * len(modules)
    strings_at = modules_at + 32 * len(modules)
    rows, table, code, begin = b"", b"", b"", 0
    for i, (name, words) in enumerate(modules.items()):
        rows += struct.pack("<16xII26xB13x", begin, i, 1)
        table += struct.pack(
            "<QIII4xQ", strings_at + len(strings) + len(code), len(words), len(words), 0, 0
        )
        code += words
        begin += len(name) + 1
    tables = (variants_at, modules_at, strings_at, len(strings), 0, 0)
    header = struct.pack(
        "<4sIQQ8I8x",
        b"SLPK",
        PACK_VERSION,
        0,
        0,
        len(modules),
        len(modules),
        *tables,
    )
    return header + rows + table + strings + code
