"""What rendering a variant takes: plain values, named as templates know them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace

from codegen.manifest import glsl_path
from codegen.members import own_members
from codegen.spec import BoundTensor, Constant, PushMember, Variant
from codegen.vocabulary import COMMON_EXTENSIONS


@dataclass(frozen=True, slots=True)
class Shader:
    """A GLSL file to be: its template, and the names that the template sees."""

    id: str
    path: str  # in the output folder
    template: str
    header: str  # the lines before what the template gives
    context: Mapping[str, object]
    kernel: str
    own: frozenset[str]  # push constants and constants that stand in the spec, not in defaults


def shader_of(variant: Variant) -> Shader:
    """The variant's shader."""
    kernel = variant.kernel
    return Shader(
        variant.id,
        glsl_path(variant),
        kernel.template,
        _header(variant),
        _context(variant),
        kernel.name,
        frozenset(member.name for member in own_members(kernel)),
    )


def _header(variant: Variant) -> str:
    extensions = list(COMMON_EXTENSIONS)
    for capability in variant.needs:
        extensions += capability.extensions
    lines = ["#version 450", *(f"#extension {name} : require" for name in sorted(set(extensions)))]
    return "\n".join(lines) + "\n"


def _context(variant: Variant) -> dict[str, object]:
    tensors = [_tensor(x) for x in variant.tensors]
    return {
        **variant.kernel.params,
        **{name: str(v) if not isinstance(v, int) else v for name, v in variant.values.items()},
        "variant": SimpleNamespace(id=variant.id, op=variant.op, kernel=variant.kernel.name),
        "tensors": tensors,
        "t": SimpleNamespace(**{x.name: x for x in tensors}),
        "push": [_member(m, variant) for m in variant.kernel.push],
        "constants": [_constant(c) for c in variant.kernel.constants],
        "workgroup": list(variant.kernel.workgroup),
        "needs": [need.value for need in variant.needs],
    }


def _tensor(tensor: BoundTensor) -> SimpleNamespace:
    glsl = tensor.glsl
    return SimpleNamespace(
        name=tensor.name,
        binding=tensor.binding,
        dtype=str(tensor.dtype),
        storage=str(tensor.storage),
        image_shape=tensor.storage.image_shape,
        access=str(tensor.access),
        optional=tensor.optional,
        scalar=glsl.scalar,
        type=glsl.type,
        vec4=glsl.vec4,
        texel=glsl.texel,
        image_format=glsl.image_format,
        image_prefix=glsl.image_prefix,
    )


def _member(member: PushMember, variant: Variant) -> SimpleNamespace:
    kind = member.type_in(variant.dtype)
    return SimpleNamespace(name=member.name, type=kind, count=member.count or 1)


def _constant(constant: Constant) -> SimpleNamespace:
    return SimpleNamespace(
        name=constant.name, id=constant.id, type=constant.type, default=constant.default
    )
