"""Formulas of ONNX's elementwise operators for elements that depend on symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from spec_model.symbolic import maximum, minimum, size_of
from spec_model.symbolic.bounds import range_of
from spirloom import number_expr
from spirloom.number_expr import Number, NumberOp, computed
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type
from spirloom.onnx.size_arrays import Element, compare, is_size_dependent

Formula = Callable[[NodeContext, Sequence[int]], "Element | None"]


def _selected(ctx: NodeContext, row: Sequence[int]) -> Element | None:
    """condition · (a - b) + b, which may be a or b at all sizes."""
    condition, a, b = row
    found = (a - b) * condition + b
    for value in (a, b):
        bounds = range_of(size_of(found) - size_of(value))
        if bounds.low == bounds.high == 0:
            return value
    return found


def _divided(ctx: NodeContext, row: Sequence[int]) -> Element | None:
    a, b = row
    if range_of(size_of(b)).low < 1:
        return None
    quotient = a // b
    if size_of(quotient * b) == size_of(a):
        return quotient
    is_integer = ctx.dtype(0).kind in "iu"
    return quotient if is_integer and range_of(size_of(a)).low >= 0 else None


def _clipped(ctx: NodeContext, row: Sequence[int]) -> Element | None:
    """The value between the bounds, of which either may be absent."""
    value, *bounds = row
    if ctx.opset < 11:
        return None
    if ctx.known(1) is not None:
        value = maximum(value, bounds.pop(0))
    return minimum(value, *bounds) if bounds else value


def _remainder(ctx: NodeContext, row: Sequence[int]) -> Element | None:
    a, b = row
    if range_of(size_of(b)).low < 1 or (ctx.integer("fmod", 0) and range_of(size_of(a)).low < 0):
        return None
    return a % b


def _power(ctx: NodeContext, row: Sequence[int]) -> Element | None:
    base, exponent = row
    return None if is_size_dependent(exponent) or not 0 <= exponent <= 8 else base**exponent


def _comparison(relation: str) -> Formula:
    return lambda _, row: compare(row[0], relation, row[1])


def _cast(ctx: NodeContext, row: Sequence[int]) -> Element | None:
    to = ctx.dtype(1) if ctx.op_type == "CastLike" else numpy_type(ctx.integer("to", 0))
    return row[0] if to.kind in "iuf" else None


# The formulas of integers.
FORMULAS: dict[str, Formula] = {
    "Abs": lambda _, x: maximum(x[0], -x[0]),
    "And": lambda _, x: minimum(*x),
    "Add": lambda _, x: x[0] + x[1],
    "Cast": _cast,
    "CastLike": _cast,
    "Ceil": lambda _, x: x[0],
    "Clip": lambda ctx, x: _clipped(ctx, x),
    "Div": _divided,
    "Equal": _comparison("=="),
    "Floor": lambda _, x: x[0],
    "Greater": _comparison(">"),
    "GreaterOrEqual": _comparison(">="),
    "Less": _comparison("<"),
    "LessOrEqual": _comparison("<="),
    "Max": lambda _, x: maximum(*x),
    "Min": lambda _, x: minimum(*x),
    "Mod": _remainder,
    "Mul": lambda _, x: x[0] * x[1],
    "Neg": lambda _, x: -x[0],
    "Not": lambda _, x: 1 - x[0],
    "Or": lambda _, x: maximum(*x),
    "Pow": _power,
    "Relu": lambda _, x: maximum(x[0], 0),
    "Round": lambda _, x: x[0],
    "Sub": lambda _, x: x[0] - x[1],
    "Sum": lambda _, x: sum(x[1:], x[0]),
    "Where": _selected,
    "Xor": lambda _, x: x[0] + x[1] - 2 * x[0] * x[1],
}
# The formulas of numbers that are no integers.
NUMBERS: dict[str, Callable[..., Number]] = {
    **{name: number_expr.FORMULAS[name.lower()] for name in (
        "Abs", "Add", "Ceil", "Div", "Exp", "Floor", "Log", "Max", "Min", "Mul", "Neg", "Pow",
        "Reciprocal", "Round", "Sqrt", "Sub",
    )},
    "Cast": number_expr.FORMULAS["float"],
    "CastLike": lambda x, _: number_expr.FORMULAS["float"](x),
    "Where": number_expr.FORMULAS["select"],
}  # fmt: skip
# The rounding of results, by their type.
ROUNDED: dict[np.dtype[Any], Callable[[Number], Number]] = {
    np.dtype(np.float32): lambda x: computed(NumberOp.FLOAT32, x),
    np.dtype(np.float64): lambda x: x,
}
