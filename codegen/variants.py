"""Kernels → variants: every combination of axis values that exists."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from codegen.errors import SpecError
from codegen.expr.evaluate import evaluate
from codegen.spec import Axis, AxisValue, BoundTensor, Kernel, Operand, Variant
from codegen.vocabulary import Capability, DType, Storage

_BUFFER_NEEDS = {
    DType.F16: Capability.STORAGE_BUFFER_16BIT,
    DType.I8: Capability.STORAGE_BUFFER_8BIT,
    DType.U8: Capability.STORAGE_BUFFER_8BIT,
    DType.B8: Capability.STORAGE_BUFFER_8BIT,
}


def expand(op: str, kernel: Kernel) -> list[Variant]:
    """The kernel's variants, in order of key. Fails if there is none."""
    variants = sorted(_expand(op, kernel), key=lambda variant: variant.key)
    if not variants:
        message = f"Kernel '{kernel.name}' has no variant: 'where' excludes every combination."
        raise SpecError.at(kernel.position, message)
    return variants


def _expand(op: str, kernel: Kernel) -> Iterator[Variant]:
    for combination in product(*(axis.values for axis in kernel.axes)):
        values = {a.name: value for a, value in zip(kernel.axes, combination, strict=True)}
        if kernel.where is not None and not evaluate(kernel.where, values):
            continue
        key = kernel.index << 32
        for place, axis in enumerate(kernel.axes):
            key |= axis.code(values[axis.name]) << (4 * place)
        words = [kernel.name, *(_word(axis, values[axis.name]) for axis in kernel.axes)]
        tensors = tuple(_bind(x, i, values) for i, x in enumerate(kernel.operands))
        yield Variant("_".join(words), key, op, kernel, values, tensors, _needs(kernel, tensors))


def _word(axis: Axis, value: AxisValue) -> str:
    """Part of an id: `f16`, `buffer`, or letter and number for a tuning axis."""
    return f"{axis.name[0]}{value}" if isinstance(value, int) else value.value


def _bind(operand: Operand, binding: int, values: dict[str, AxisValue]) -> BoundTensor:
    dtype, storage = operand.dtype, operand.storage
    return BoundTensor(
        operand.name,
        binding,
        dtype if isinstance(dtype, DType) else DType(str(values[dtype])),
        storage if isinstance(storage, Storage) else Storage(str(values[storage])),
        operand.access,
        operand.optional,
        operand.position,
    )


def _needs(kernel: Kernel, tensors: tuple[BoundTensor, ...]) -> tuple[Capability, ...]:
    needs = set(kernel.needs)
    for tensor in tensors:
        if tensor.storage is Storage.BUFFER and tensor.dtype in _BUFFER_NEEDS:
            needs.add(_BUFFER_NEEDS[tensor.dtype])
    order = list(Capability)
    return tuple(sorted(needs, key=order.index))
