"""The template variables of a variant as plain values, and unused members of shaders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace

from codegen.manifest import glsl_path
from spec_model.errors import ErrorList, SpecError
from spec_model.spec import BoundTensor, Constant, Kernel, PushMember, Variant
from spec_model.vocabulary import COMMON_EXTENSIONS, VectorAccess


@dataclass(frozen=True, slots=True)
class Shader:
    """A GLSL file to render: its template and the template's variables."""

    id: str
    path: str  # in the output directory
    template: str
    header: str  # the lines before the template's output
    context: Mapping[str, object]
    kernel: str
    own: frozenset[str]  # push constants and constants of the spec, not of defaults
    pushable: frozenset[str]  # names that are push constants if the GLSL uses them
    implied: frozenset[str]  # those that it names


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
        kernel.pushable,
        frozenset(member.name for member in kernel.push if member.implied),
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
        "access": {
            str(word): [name for name, words in variant.kernel.access.items() if word in words]
            for word in VectorAccess
        },
        "needs": [need.value for need in variant.needs],
        "alternatives": _alternatives(variant),
    }


def _alternatives(variant: Variant) -> list[Mapping[str, object]]:
    """The params of the kernels that share the module, with their numbers."""
    found = variant.alternatives or {0: variant.kernel.params}
    return [{"number": number, **params} for number, params in sorted(found.items())]


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


_WORD = re.compile(r"[A-Za-z]\w*")
_NO_USE = re.compile(r"//[^\n]*|layout\(push_constant[^{]*\{[^}]*\};|layout\(constant_id[^;]*;")


def own_members(kernel: Kernel) -> list[PushMember | Constant]:
    """The members declared in the spec. Members of a template may be unused."""
    push = [member for member in kernel.push if not member.implied]
    members: list[PushMember | Constant] = [*push, *kernel.constants]
    return [each for each in members if each.position.file == kernel.position.file]


def unused_members(
    shaders: Iterable[tuple[str, frozenset[str], str]],
) -> Mapping[str, frozenset[str]]:
    """By kernel, the members that no shader uses. Shaders: kernel, own members, GLSL."""
    unused: dict[str, frozenset[str]] = {}
    for kernel, own, text in shaders:
        left = unused.get(kernel, own)
        unused[kernel] = left - _words(text) if left else left
    return {kernel: names for kernel, names in unused.items() if names}


def check_members(kernels: Iterable[Kernel], unused: Mapping[str, frozenset[str]]) -> None:
    """Fails if there are unused members."""
    errors = ErrorList()
    for kernel in kernels:
        for member in own_members(kernel):
            if member.name in unused.get(kernel.name, ()):
                what = "Push constant" if isinstance(member, PushMember) else "Constant"
                message = (
                    f"{what} '{member.name}' is not used by any shader of {kernel.name}; remove"
                )
                message += " it, or move it to 'let' if only formulas use it."
                with errors:
                    raise SpecError.at(member.position, message)
    errors.raise_any()


def _words(text: str) -> set[str]:
    """The names in GLSL, except in comments and declarations of push constants and constants."""
    return set(_WORD.findall(_NO_USE.sub("", text)))
