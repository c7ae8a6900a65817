"""Modules that several kernels share: a specialization constant selects the kernel's functions.

Templates list the params in which such kernels may differ (key `alternatives`). Drivers fold
specialization constants before they compile, so that a pipeline contains the functions of its
kernel only. The module of a library with few operators contains only their functions.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Hashable, Mapping

from spec_model.expr.types import Kind, Literal
from spec_model.library import Library
from spec_model.spec import Constant, Kernel, Variant
from spec_model.vocabulary import FIRST_CONSTANT, MAX_CONSTANTS

SELECTOR = "ALTERNATIVE"
# Kernels of a module. Drivers read the functions of all of them before they remove the others.
_MAX_KERNELS = 12


def with_shared_modules(library: Library) -> Library:
    """The library in which kernels that differ only in their alternatives have equal GLSL."""
    numbers = _numbers(library)
    sharing: defaultdict[Hashable, list[Variant]] = defaultdict(list)
    for variant in library.variants:
        if variant.kernel.index in numbers:
            module, _ = numbers[variant.kernel.index]
            bound = tuple((t.name, t.dtype, t.storage) for t in variant.tensors)
            values = tuple(sorted(variant.values.items()))
            sharing[module, values, bound, variant.needs].append(variant)
    alternatives: dict[str, Mapping[int, Mapping[str, object]]] = {}
    for group in sharing.values():
        numbered = {numbers[v.kernel.index][1]: v.kernel.params for v in group}
        if len(numbered) > 1:
            alternatives |= dict.fromkeys((variant.id for variant in group), numbered)
    selected = {v.kernel.index for v in library.variants if v.id in alternatives}
    kernels = {
        kernel.index: _with_selector(kernel, numbers[kernel.index][1])
        for kernel in library.kernels
        if kernel.index in selected
    }
    variants = {
        variant.id: dataclasses.replace(
            variant,
            kernel=kernels.get(variant.kernel.index, variant.kernel),
            alternatives=alternatives.get(variant.id, {}),
        )
        for variant in library.variants
    }
    ops = {
        name: dataclasses.replace(
            op,
            kernels=tuple(kernels.get(kernel.index, kernel) for kernel in op.kernels),
            variants=tuple(variants[variant.id] for variant in op.variants),
        )
        for name, op in library.ops.items()
    }
    return dataclasses.replace(library, ops=ops, variants=tuple(variants.values()))


def _numbers(library: Library) -> dict[int, tuple[Hashable, int]]:
    """By kernel that has variants, its module and its number in it. Kernels with equal alternatives
    have equal numbers."""
    used = {variant.kernel.index for variant in library.variants}
    groups: defaultdict[Hashable, dict[str, int]] = defaultdict(dict)
    numbers: dict[int, tuple[Hashable, int]] = {}
    for kernel in library.kernels:
        if kernel.alternatives and kernel.index in used and len(kernel.constants) < MAX_CONSTANTS:
            interface = _interface(kernel)
            group = groups[interface]
            own = repr([kernel.params[name] for name in kernel.alternatives])
            number = group.setdefault(own, len(group))
            numbers[kernel.index] = ((interface, number // _MAX_KERNELS), number % _MAX_KERNELS)
    return numbers


def _interface(kernel: Kernel) -> Hashable:
    """Everything that the GLSL depends on but the axes, their values and the alternatives."""
    own = {name: value for name, value in kernel.params.items() if name not in kernel.alternatives}
    return (
        kernel.template,
        kernel.alternatives,
        repr(sorted(own.items())),
        tuple(
            (x.name, x.is_list, x.optional, x.access, x.dtype, x.storage) for x in kernel.operands
        ),
        repr(sorted(kernel.access.items())),
        tuple((m.name, m.type, m.count) for m in kernel.push),
        tuple((c.name, c.type) for c in kernel.constants),
        kernel.workgroup,
        kernel.needs,
        kernel.portable,
        kernel.loop_iterations is None,
        kernel.test_only,
    )


def _with_selector(kernel: Kernel, number: int) -> Kernel:
    """The kernel with the selecting constant before its own: tools that do not know a call can
    specialize it without the others."""
    value = Literal(Kind.INT, number)
    selector = Constant(SELECTOR, FIRST_CONSTANT, "int", "0", value, kernel.position)
    own = (dataclasses.replace(each, id=each.id + 1) for each in kernel.constants)
    return dataclasses.replace(kernel, constants=(selector, *own))
