"""Whether a plan made for one set of shapes serves others of the same ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from codegen.expr import operations as ops
from codegen.expr.types import (
    Apply,
    Comprehension,
    Conditional,
    Expr,
    Kind,
    ListOf,
    Logic,
    Origin,
    Variable,
)
from codegen.op import Op
from codegen.spec import Kernel, Let

# What these say of tensors does not change with their sizes.
_SIZELESS = (
    *(ops.ATTRIBUTES[name][1] for name in ("rank", "dtype", "storage")),
    *(form.operation for form in (*ops.FUNCTIONS["len"], *ops.FUNCTIONS["present"])),
)


def packed_constants(op: Op, kernels: Iterable[Kernel]) -> set[str]:
    """The tensors that the kernels pack and that are weights: all but the op's first one."""
    first = next((arg.name for arg in op.args if arg.type.is_tensor), None)
    packed = {x.name for kernel in kernels for x in kernel.operands if x.pack is not None}
    return packed - {first}


def follows_shapes(op: Op) -> bool:
    """Whether more than push constants and dispatch sizes follows the shapes of a call.

    That is the choice of a kernel, the number of dispatches or a specialisation constant. Packed
    weights keep their shapes.
    """
    lets = {step.name: step.value for step in op.steps if isinstance(step, Let)}
    packed = packed_constants(op, op.kernels)
    return any(
        _reads_size(expression, lets, packed)
        for kernel in op.kernels
        for expression in _planned(kernel)
    )


def _planned(kernel: Kernel) -> Iterator[Expr]:
    for expression in (kernel.when, kernel.repeat, *(axis.of for axis in kernel.axes)):
        if expression is not None:
            yield expression
    yield from (constant.value for constant in kernel.constants)


def _reads_size(expression: Expr, lets: Mapping[str, Expr], constant: set[str]) -> bool:
    if isinstance(expression, Apply) and expression.operation not in _SIZELESS:
        for operand in expression.operands:
            is_tensor = operand.kind in (Kind.TENSOR, Kind.TENSORS)
            if is_tensor and expression.kind is not Kind.TENSOR and operand.names - constant:
                return True
    if isinstance(expression, Variable) and expression.origin is Origin.LET:
        return _reads_size(lets[expression.name], lets, constant)
    return any(_reads_size(part, lets, constant) for part in _parts(expression))


def _parts(expression: Expr) -> Iterator[Expr]:
    match expression:
        case Apply(operands=operands) | ListOf(operands=operands):
            sized = not (isinstance(expression, Apply) and expression.operation in _SIZELESS)
            yield from operands if sized else ()
        case Logic(left=left, right=right):
            yield from (left, right)
        case Conditional(condition=condition, then=then, otherwise=otherwise):
            yield from (condition, then, otherwise)
        case Comprehension(iterable=iterable, element=element, condition=condition):
            yield from (iterable, element)
            if condition is not None:
                yield condition
