"""The operations of intervals, in formulas of bounds: they are evaluated by importers only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import add, mul, neg, or_, sub
from typing import cast

from spec_model import interval
from spec_model.expr.types import Operation, TensorType, Value
from spec_model.interval import Interval
from spec_model.symbolic import SymInt, size_of
from spec_model.symbolic.bounds import range_of

# Intervals have no opcodes.
_CODE = ""


def interval_of(value: Value) -> Interval:
    """The values of a tensor, or a number; a symbolic one at all sizes."""
    if isinstance(value, Interval):
        return value
    if isinstance(value, TensorType):
        return value.bounds
    if isinstance(value, SymInt):
        known = range_of(size_of(value))
        return Interval(known.low, known.high)
    return interval.exactly(cast(float, value))


CONVERT = Operation(interval_of, _CODE)
NEGATE = Operation(neg, _CODE)

# The functions, with the number of their operands.
FUNCTIONS: Mapping[str, tuple[int, Operation]] = {
    name: (count, Operation(cast("Callable[..., Value]", function), _CODE))
    for name, count, function in (
        ("abs", 1, abs),
        ("between", 2, interval.between),
        ("bits", 2, interval.bits),
        ("ceil", 1, Interval.ceiled),
        ("floor", 1, Interval.floored),
        ("floor_div", 2, partial(interval.quotient, floors=True)),
        ("fmod", 2, partial(interval.remainder, like_dividend=True)),
        ("hull", 2, or_),
        ("max", 2, interval.maximum),
        ("min", 2, interval.minimum),
        ("power", 2, interval.power),
        ("reals", 2, interval.reals),
        ("remainder", 2, partial(interval.remainder, like_dividend=False)),
        ("round", 1, interval.rounded),
        ("shift_left", 2, partial(interval.shifted, left=True)),
        ("shift_right", 2, partial(interval.shifted, left=False)),
        ("sign", 1, interval.sign),
        ("square", 1, interval.square),
        ("trunc_div", 2, partial(interval.quotient, floors=False)),
    )
}
BINARY: Mapping[str, Operation] = {
    symbol: Operation(cast("Callable[..., Value]", function), _CODE)
    for symbol, function in (("+", add), ("-", sub), ("*", mul))
}
