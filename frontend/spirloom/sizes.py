"""Symbolic sizes that are chosen when a graph runs, and the ints that depend on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Self, TypeVar

from spec_model.expr import semantics
from spec_model.expr.types import EvalError
from spec_model.size_expr import SizeExpr, SizeOp, Term, expression, size_from
from spec_model.symbolic import (
    Guards,
    SizeError,
    Symbol,
    SymInt,
    general,
    known,
    maximum,
    minimum,
    size_of,
    strict,
    sym,
)
from spec_model.symbolic.bounds import range_of
from spec_model.symbolic.expr import at_maximum, division
from spirloom.errors import Unsupported

__all__ = [
    "SizeExpr",
    "SizeOp",
    "SymInt",
    "Symbol",
    "Term",
    "Varying",
    "at",
    "broadcast_shapes",
    "clamped_index",
    "divided",
    "division_of",
    "expression",
    "graph_int",
    "inferred_size",
    "is_symbolic",
    "maximum_shape",
    "proven",
    "refuse_symbolic",
    "surely_less",
    "symbolic_int",
    "upper",
    "upper_shape",
]


T = TypeVar("T")


class Varying(int):
    """A symbolic int of a graph: its value at the maximum sizes, and its expression.

    Without an expression, it is a dimension of a computed tensor that only shape inference
    determines.
    """

    expr: SizeExpr | None

    def __new__(cls, value: int, expr: SizeExpr | None) -> Self:
        made = super().__new__(cls, value)
        made.expr = expr
        return made

    def __str__(self) -> str:
        return "?" if self.expr is None else str(self.expr)


def inferred_size(value: int) -> bool:
    """Whether only shape inference determines the dimension."""
    return isinstance(value, Varying) and value.expr is None


def at(value: int, sizes: Mapping[str, int]) -> int:
    """An int of a graph at these sizes of the symbols."""
    if isinstance(value, SymInt):
        return value.size.value(sizes)
    if not isinstance(value, Varying):
        return value
    assert value.expr is not None, "the size is inferred"
    return value.expr.value(sizes)


def symbolic_int(value: int, symbols: Mapping[str, Symbol]) -> int:
    """An int of a graph as an integer that computes with symbols. Its size must not be inferred."""
    if not isinstance(value, Varying):
        return value
    assert value.expr is not None, "the size is inferred"
    return sym(size_from(value.expr, symbols))


def graph_int(value: int) -> int:
    """A symbolic integer as graphs store it. Its size is inferred if it has no form there."""
    if not isinstance(value, SymInt):
        return value
    return Varying(at_maximum(value.size), expression(value.size))


def proven(function: Callable[[], T]) -> T | None:
    """The result of a function that compares sizes; an equality that holds at some sizes only is
    false. None if another comparison has different outcomes at different sizes.
    """
    with general(Guards()) as guards:
        try:
            found = function()
        except SizeError:
            return None
    return None if guards.assumed else found


def surely_less(a: int, b: int) -> bool:
    """Whether a < b at all sizes."""
    return a < b if type(a) is type(b) is int else known(size_of(a) - size_of(b), "<") is True


def division_of(a: int, b: int) -> tuple[int, int]:
    """(q, r) with a = q b + r. For constants, 0 <= r < b; for others, r has no multiple of the
    leading term of b.
    """
    if type(a) is type(b) is int:
        return divmod(a, b)
    whole, rest = division(size_of(a), size_of(b))
    return sym(whole), sym(rest)


def divided(a: int, b: int) -> int | None:
    """a / b. None if it is no integer at some sizes."""
    if type(b) is int and b == 0:
        return None
    whole, rest = division_of(a, b)
    return whole if type(rest) is int and rest == 0 else None


def is_symbolic(ints: Sequence[object]) -> bool:
    """Whether one of the ints is symbolic."""
    return any(isinstance(value, SymInt) for value in ints)


def maximum_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape at the maximum sizes of all symbols."""
    return tuple(at_maximum(size_of(value)) for value in shape)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all broadcast to at all sizes. Raises Unsupported if there is none."""
    try:
        with strict():
            return reduce(semantics.broadcast, shapes, ())
    except EvalError as error:
        raise Unsupported(f"shapes do not broadcast: {error}") from None


def clamped_index(index: int, size: int) -> int:
    """The begin or end of a slice; negative ones count from the end of the dimension."""
    return maximum(index + size, 0) if index < 0 else minimum(index, size)


def upper(value: int) -> int:
    """An upper bound of an int at all sizes."""
    return range_of(size_of(value)).high


def upper_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Upper bounds of a shape at all sizes."""
    return tuple(upper(value) for value in shape)


def refuse_symbolic(size: int) -> int:
    """The size. Raises Unsupported if it is symbolic."""
    if isinstance(size, SymInt):
        raise Unsupported(f"it requires a fixed size, not {size}")
    return size
