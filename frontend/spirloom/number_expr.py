"""Numbers that depend on symbolic sizes, such as 1 / sqrt(n), as formulas in graph files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial, reduce
from math import isfinite
from typing import Any

import numpy as np

from spec_model.interval import EVERYTHING, Interval, corners
from spec_model.symbolic import size_of
from spec_model.symbolic.bounds import range_of
from spec_model.symbolic.expr import at_maximum
from spirloom.errors import Unsupported
from spirloom.sizes import SizeExpr, SymInt, expression

# Operations of one number, so that a model cannot make its formulas exponentially long.
MAX_OPERATIONS = 200


class NumberOp(IntEnum):
    """Operations, with the codes of graph files."""

    CONSTANT = 0
    SIZE = 1
    SQRT = 2
    EXP = 3
    LOG = 4
    FLOOR = 5
    CEIL = 6
    ROUND = 7
    FLOAT32 = 8
    ADD = 9
    SUB = 10
    MUL = 11
    DIV = 12
    POW = 13
    MIN = 14
    MAX = 15
    SELECT = 16

    @property
    def operands(self) -> int:
        """The number of operands."""
        return (self > NumberOp.SIZE) + (self > NumberOp.FLOAT32) + (self is NumberOp.SELECT)


@dataclass(frozen=True, slots=True)
class NumberExpr:
    """An operation on other numbers, in double precision.

    value  of a constant
    size   a SymInt while a model is imported, its form in graph files in a finished graph
    count  operations, with those of the operands
    """

    op: NumberOp
    operands: tuple[NumberExpr, ...] = ()
    value: float = 0.0
    size: SymInt | SizeExpr | None = None
    count: int = 1

    def at(self, sizes: Mapping[str, int]) -> float:
        """The value at these sizes of the symbols."""
        return float(self.evaluate(lambda size: _size_at(size, sizes)))

    def evaluate(self, size_of_leaf: Callable[[SymInt | SizeExpr], Any]) -> Any:
        """The value for these sizes, which may be arrays."""
        if self.op is NumberOp.CONSTANT:
            return np.float64(self.value)
        if self.op is NumberOp.SIZE:
            assert self.size is not None
            return np.asarray(size_of_leaf(self.size), np.float64)[()]
        with np.errstate(all="ignore"):
            operands = [operand.evaluate(size_of_leaf) for operand in self.operands]
            return _FUNCTIONS[self.op](*operands)

    def leaves(self) -> Iterator[SymInt | SizeExpr]:
        """The sizes, with repetitions."""
        if self.size is not None:
            yield self.size
        for operand in self.operands:
            yield from operand.leaves()

    def bounds(self) -> Interval:
        """Bounds of the value at all sizes. The sizes are SymInts."""
        if self.op is NumberOp.CONSTANT:
            return Interval(self.value, self.value, self.value.is_integer())
        if self.op is NumberOp.SIZE:
            known = range_of(size_of(self.size))  # type: ignore[arg-type]
            return Interval(known.low, known.high)
        return _bounds(self.op, [operand.bounds() for operand in self.operands])

    def __str__(self) -> str:
        if self.op is NumberOp.CONSTANT:
            return f"{self.value:g}"
        if self.op is NumberOp.SIZE:
            return str(self.size)
        texts = [str(operand) for operand in self.operands]
        if self.op in _INFIX:
            return f"({texts[0]} {_INFIX[self.op]} {texts[1]})"
        return f"{self.op.name.lower()}({', '.join(texts)})"


@dataclass(frozen=True, slots=True)
class SymFloat:
    """A number that depends on sizes: its value at the maximum sizes, and its formula. It is no
    `float`, so that no code takes it for a constant.
    """

    value: float
    expr: NumberExpr

    def __str__(self) -> str:
        return str(self.expr)


Number = int | float | SymFloat


def number_of(value: Number) -> NumberExpr:
    """The formula of a number."""
    if isinstance(value, SymFloat):
        return value.expr
    if isinstance(value, SymInt):
        return NumberExpr(NumberOp.SIZE, size=value)
    return NumberExpr(NumberOp.CONSTANT, value=float(value))


def computed(op: NumberOp, *values: Number) -> SymFloat:
    """The result of an operation. Raises Unsupported beyond MAX_OPERATIONS."""
    operands = tuple(map(number_of, values))
    count = 1 + sum(operand.count for operand in operands)
    if count > MAX_OPERATIONS:
        raise Unsupported(f"it computes a number of more than {MAX_OPERATIONS} operations on sizes")
    return from_expr(NumberExpr(op, operands, count=count))


def from_expr(expr: NumberExpr) -> SymFloat:
    """The number of a formula whose sizes are SymInts, or of a constant."""
    return SymFloat(float(expr.evaluate(lambda size: at_maximum(size_of(size)))), expr)  # type: ignore[arg-type]


# The formulas of functions of numbers, by their names in Python.
FORMULAS: dict[str, Callable[..., Number]] = {
    **{op.name.lower(): partial(computed, op) for op in NumberOp if op.operands},
    "abs": lambda x: computed(NumberOp.MAX, x, computed(NumberOp.MUL, -1.0, x)),
    "float": lambda x: from_expr(number_of(x)),
    "floordiv": lambda a, b: computed(NumberOp.FLOOR, computed(NumberOp.DIV, a, b)),
    "max": lambda *x: reduce(partial(computed, NumberOp.MAX), x),
    "min": lambda *x: reduce(partial(computed, NumberOp.MIN), x),
    "neg": lambda x: computed(NumberOp.MUL, -1.0, x),
    "reciprocal": lambda x: computed(NumberOp.DIV, 1.0, x),
    "truediv": partial(computed, NumberOp.DIV),
}


def stored(value: SymFloat) -> SymFloat | None:
    """The number with its sizes as graph files store them. None if one has no form there."""
    expr = _stored(value.expr)
    return None if expr is None else SymFloat(value.value, expr)


def _stored(expr: NumberExpr) -> NumberExpr | None:
    size = expression(expr.size.size) if isinstance(expr.size, SymInt) else expr.size
    operands = [_stored(operand) for operand in expr.operands]
    known = tuple(operand for operand in operands if operand is not None)
    if len(known) < len(operands) or (size is None and expr.size is not None):
        return None
    return replace(expr, operands=known, size=size)


def truncated(value: SymFloat) -> SymFloat:
    """The number, rounded to zero."""
    bounds = value.expr.bounds()
    if bounds.low >= 0 or bounds.high <= 0:
        return computed(NumberOp.FLOOR if bounds.low >= 0 else NumberOp.CEIL, value)
    down = computed(NumberOp.MAX, computed(NumberOp.FLOOR, value), 0.0)
    return computed(NumberOp.ADD, down, computed(NumberOp.MIN, computed(NumberOp.CEIL, value), 0.0))


def _size_at(size: SymInt | SizeExpr, sizes: Mapping[str, int]) -> int:
    return size.value(sizes) if isinstance(size, SizeExpr) else size.size.value(sizes)


_INFIX = {NumberOp.ADD: "+", NumberOp.SUB: "-", NumberOp.MUL: "*", NumberOp.DIV: "/",
          NumberOp.POW: "**"}  # fmt: skip


def _to_float32(x: Any) -> Any:
    return np.asarray(x, np.float32).astype(np.float64)[()]


_FUNCTIONS: dict[NumberOp, Callable[..., Any]] = {
    NumberOp.SQRT: np.sqrt,
    NumberOp.EXP: np.exp,
    NumberOp.LOG: np.log,
    NumberOp.FLOOR: np.floor,
    NumberOp.CEIL: np.ceil,
    NumberOp.ROUND: np.rint,
    NumberOp.FLOAT32: _to_float32,
    NumberOp.ADD: np.add,
    NumberOp.SUB: np.subtract,
    NumberOp.MUL: np.multiply,
    NumberOp.DIV: np.divide,
    NumberOp.POW: np.power,
    NumberOp.MIN: lambda a, b: np.where(b < a, b, a)[()],
    NumberOp.MAX: lambda a, b: np.where(a < b, b, a)[()],
    NumberOp.SELECT: lambda c, a, b: np.where(c != 0, a, b)[()],
}
_ROUNDING = (NumberOp.FLOOR, NumberOp.CEIL, NumberOp.ROUND)


def _bounds(op: NumberOp, x: list[Interval]) -> Interval:
    match op:
        case NumberOp.ADD:
            return x[0] + x[1]
        case NumberOp.SUB:
            return x[0] - x[1]
        case NumberOp.MUL:
            return x[0] * x[1]
        case NumberOp.DIV if x[1].low > 0 and _is_finite(x[0]):
            return corners(lambda a, b: a / b, x[0], x[1], integral=False)
        case NumberOp.MIN:
            low, high = min(x[0].low, x[1].low), min(x[0].high, x[1].high)
            return Interval(low, high, x[0].integral and x[1].integral)
        case NumberOp.MAX:
            low, high = max(x[0].low, x[1].low), max(x[0].high, x[1].high)
            return Interval(low, high, x[0].integral and x[1].integral)
        case NumberOp.SELECT:
            return x[1] | x[2]
    one = len(x) == 1 and not (op in (NumberOp.SQRT, NumberOp.LOG) and x[0].low <= 0)
    if not (one and _is_finite(x[0])):
        return EVERYTHING
    with np.errstate(all="ignore"):
        low, high = (float(_FUNCTIONS[op](np.float64(end))) for end in (x[0].low, x[0].high))
    return Interval(low, high, op in _ROUNDING or (op is NumberOp.FLOAT32 and x[0].integral))


def _is_finite(x: Interval) -> bool:
    return isfinite(x.low) and isfinite(x.high)
