"""Statistics and GLSL of kernels, from the shader pack and the templates that are installed."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any


def facts_of(variants: AbstractSet[str], glsl: bool) -> dict[str, dict[str, Any]]:
    """By variant: `bytes` and `instructions` of its SPIR-V, and its `glsl`, where known."""
    from codegen.shader_pack import InvalidInputError, module_of
    from codegen.spirv_statistics import statistics
    from spirloom.runtime.native import find

    found: dict[str, dict[str, Any]] = {name: {} for name in sorted(variants)}
    files = find()
    pack = files.shaders.read_bytes() if files is not None else b""
    for name, facts in found.items():
        try:
            module = module_of(pack, name, "the shader pack") if pack else None
            if module is not None:
                facts["bytes"] = len(module)
                facts["instructions"] = dict(statistics(module))["instructions"]
        except (InvalidInputError, ValueError):
            continue  # another version of the pack: statistics are absent
        if glsl:
            facts["glsl"] = _glsl(name)
    return found


def _glsl(name: str) -> str:
    from spirloom.commands.op_show import find_variant, glsl_of, load
    from spirloom.errors import ImportFailure

    library = load((), ())
    try:
        return glsl_of(library, find_variant(library, name))
    except ImportFailure:
        return ""  # a kernel of another library
