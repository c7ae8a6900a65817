"""Args of the type `number`: floats which kernels of integers take as ints, so as to lose nothing.

A push constant that is such an arg has the type that the variant's dtype computes in.
"""

from __future__ import annotations

from codegen.expr import operations as ops
from codegen.expr import semantics
from codegen.expr.types import Apply, Conditional, Expr, Kind, Literal, Logic, Operation, names_of
from codegen.spec import Axis
from codegen.vocabulary import DType

_LEAST, _GREATEST = -2147483648.0, 2147483647.0


def as_number(value: float, dtype: DType) -> float:
    """The value as kernels of that dtype take it. Fails with EvalError for a NaN among ints."""
    if dtype.is_float:
        return value
    if dtype is DType.B8:
        return int(value != 0)
    return semantics.to_int(semantics.smaller(semantics.larger(value, _LEAST), _GREATEST))


def pushed(value: Expr, dtype: Axis) -> tuple[str, Expr]:
    """The type of a push constant that is a number, and what is put there: of a kernel for both
    floats and integers, the bits of what the variant takes."""
    floats = [x for x in dtype.values if isinstance(x, DType) and x.is_float]
    if len(floats) == len(dtype.values):
        return "float", value
    whole = _saturated(value)
    if DType.B8 in dtype.values:
        whole = _chosen(dtype, [DType.B8], _compared("!=", value, Literal(Kind.FLOAT, 0.0)), whole)
    if not floats:
        return "int", whole
    bits = ops.FUNCTIONS["float_bits"][0].operation
    return "number", _chosen(dtype, floats, _apply(Kind.INT, bits, value), whole)


def _saturated(value: Expr) -> Expr:
    """The value as an int32, the nearest one where it lies outside."""
    for name, end in (("max", _LEAST), ("min", _GREATEST)):
        operation = ops.VARIADIC[name][Kind.FLOAT]
        value = _apply(Kind.FLOAT, operation, value, Literal(Kind.FLOAT, end))
    return _apply(Kind.INT, ops.TO_INT, value)


def _chosen(axis: Axis, dtypes: list[DType], then: Expr, otherwise: Expr) -> Expr:
    """`then` in variants of these dtypes."""
    if set(dtypes) == set(axis.values):
        return then
    assert axis.of is not None
    conditions = [_compared("==", axis.of, Literal(Kind.DTYPE, dtype)) for dtype in dtypes]
    condition = conditions[0]
    for other in conditions[1:]:
        condition = Logic(False, condition, other, axis.of.names)
    names = names_of(axis.of, then, otherwise)
    return Conditional(Kind.INT, condition, then, otherwise, None, names)


def _compared(symbol: str, left: Expr, right: Expr) -> Expr:
    return _apply(Kind.BOOL, ops.COMPARISONS[symbol][1], left, right)


def _apply(kind: Kind, operation: Operation, *operands: Expr) -> Expr:
    return Apply(kind, operation, operands, None, names_of(*operands))
