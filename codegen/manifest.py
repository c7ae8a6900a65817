"""The manifest: what the shader compiler checks every module against."""

from __future__ import annotations

import json
from collections.abc import Sequence

from codegen.spec import Variant

Json = dict[str, object]

_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3


def fnv1a_64(data: bytes) -> int:
    """The FNV-1a hash of 64 bits."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value ^ byte) * _FNV_PRIME & 0xFFFFFFFFFFFFFFFF
    return value


def library_digest(variants: Sequence[Variant]) -> int:
    """The number by which generated C++ and packs recognise each other."""
    rows = [
        [
            variant.id,
            variant.key,
            [[x.name, x.binding_type.value, x.access.value] for x in variant.tensors],
            [[m.name, m.type, m.count, m.offset] for m in variant.kernel.push],
            [[c.name, c.id, c.type] for c in variant.kernel.constants],
        ]
        for variant in sorted(variants, key=lambda v: v.id)
    ]
    return fnv1a_64(json.dumps(rows, separators=(",", ":")).encode())


def manifest_text(library: str, digest: int, variants: Sequence[Variant]) -> str:
    """manifest.json, one line per variant."""
    head = json.dumps({"version": 1, "library": library, "digest": f"{digest:016x}"})
    rows = ",\n".join(json.dumps(variant_row(v), separators=(",", ":")) for v in variants)
    return f'{head[:-1]}, "variants": [\n{rows}\n]}}\n'


def glsl_path(variant: Variant) -> str:
    """Where the variant's GLSL lies in the output folder."""
    return f"glsl/{variant.id}.glsl"


def variant_row(variant: Variant) -> Json:
    """What the manifest says of a variant."""
    kernel = variant.kernel
    return {
        "id": variant.id,
        "key": variant.key,
        "source": glsl_path(variant),
        "target": "vulkan1.1",
        "at": str(kernel.position),
        "bindings": [
            {
                "name": x.name,
                "type": x.binding_type.value,
                "access": x.access.value,
                "at": str(x.position),
            }
            for x in variant.tensors
        ],
        "push": [
            {
                "name": m.name,
                "type": m.type,
                "count": m.count or 1,
                "offset": m.offset,
                "at": str(m.position),
            }
            for m in kernel.push
        ],
        "push_bytes": kernel.push_bytes,
        "constants": [
            {"name": c.name, "id": c.id, "type": c.type, "at": str(c.position)}
            for c in kernel.constants
        ],
        "workgroup": list(kernel.workgroup),
        "needs": [need.value for need in variant.needs],
        "portable": kernel.portable,
    }
