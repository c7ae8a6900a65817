"""Symbolic sizes that are chosen when a graph runs, and the ints that depend on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Self

from spec_model.expr import semantics
from spec_model.expr.types import EvalError
from spec_model.symbolic import Symbol, SymInt, size_of, strict
from spec_model.symbolic.bounds import range_of
from spec_model.symbolic.expr import at_maximum
from spirloom.errors import Unsupported
from spirloom.size_expr import SizeExpr, SizeOp, Term, expression

__all__ = [
    "SizeExpr",
    "SizeOp",
    "SymInt",
    "Symbol",
    "Term",
    "Varying",
    "at",
    "broadcast_shapes",
    "expression",
    "inferred_size",
    "is_symbolic",
    "maximum_shape",
    "refuse_symbolic",
    "upper",
    "upper_shape",
]


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
