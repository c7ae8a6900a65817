"""Push constants and constants of a spec's own that no shader of their kernel uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from codegen.errors import ErrorList, SpecError
from codegen.spec import Constant, Kernel, PushMember

_WORD = re.compile(r"[A-Za-z]\w*")
_NO_USE = re.compile(r"//[^\n]*|layout\(push_constant[^{]*\{[^}]*\};|layout\(constant_id[^;]*;")


def own_members(kernel: Kernel) -> list[PushMember | Constant]:
    """Those that stand in the spec. A template's are for whichever of its users want them."""
    members: list[PushMember | Constant] = [*kernel.push, *kernel.constants]
    return [each for each in members if each.position.file == kernel.position.file]


def unused_members(
    shaders: Iterable[tuple[str, frozenset[str], str]],
) -> Mapping[str, frozenset[str]]:
    """By kernel, what none of its shaders uses; they are given by kernel, own members and GLSL."""
    unused: dict[str, frozenset[str]] = {}
    for kernel, own, text in shaders:
        left = unused.get(kernel, own)
        unused[kernel] = left - _words(text) if left else left
    return {kernel: names for kernel, names in unused.items() if names}


def check_members(kernels: Iterable[Kernel], unused: Mapping[str, frozenset[str]]) -> None:
    """Fails at the unused ones."""
    errors = ErrorList()
    for kernel in kernels:
        for member in own_members(kernel):
            if member.name in unused.get(kernel.name, ()):
                what = "Push constant" if isinstance(member, PushMember) else "Constant"
                message = f"{what} '{member.name}' is used by no shader of {kernel.name}; remove it"
                message += ", or name what formulas alone use under 'let'."
                with errors:
                    raise SpecError.at(member.position, message)
    errors.raise_any()


def _words(text: str) -> set[str]:
    """The names in GLSL, but for declarations of push constants and constants, and comments."""
    return set(_WORD.findall(_NO_USE.sub("", text)))
