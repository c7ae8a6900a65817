"""The manifest: the expected interface of every module, checked by the shader compiler."""

from __future__ import annotations

import json
from collections.abc import Sequence

from spec_model.spec import Variant

Json = dict[str, object]


REGISTRY = "registry.bin"


def manifest_text(library: str, variants: Sequence[Variant]) -> str:
    """manifest.json, one line per variant."""
    head = json.dumps({"version": 3, "library": library, "registry": REGISTRY})
    rows = ",\n".join(json.dumps(variant_row(v), separators=(",", ":")) for v in variants)
    return f'{head[:-1]}, "variants": [\n{rows}\n]}}\n'


def glsl_path(variant: Variant) -> str:
    """The path of the variant's GLSL in the output directory."""
    return f"glsl/{variant.id}.glsl"


def variant_row(variant: Variant) -> Json:
    """A variant's entry of the manifest."""
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
                "type": m.type_in(variant.dtype),
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
        "needs": [need.value for need in variant.needs if need in kernel.needs],
        "may_need": [need.value for need in variant.needs if need not in kernel.needs],
        "loop_iterations": kernel.loop_iterations is not None,
        "portable": kernel.portable,
    }
