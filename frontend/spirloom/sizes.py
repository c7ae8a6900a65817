"""Symbolic sizes that are chosen when a graph runs, and the ints that depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Self


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbolic size with inclusive bounds."""

    name: str
    min: int
    max: int

    def __str__(self) -> str:
        return f"{self.name} {self.min}..{self.max}"


# A factor and the symbols that it is multiplied with. A symbol may repeat.
Term = tuple[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SizeExpr:
    """The sum of the terms, divided and rounded down."""

    terms: tuple[Term, ...]
    divisor: int = 1

    def value(self, sizes: Mapping[str, int]) -> int:
        """The value at these sizes of the symbols."""
        total = sum(factor * prod(sizes[name] for name in names) for factor, names in self.terms)
        return total // self.divisor

    def __str__(self) -> str:
        text = " + ".join(map(_term_text, self.terms)) or "0"
        return text if self.divisor == 1 else f"({text})/{self.divisor}"


def _term_text(term: Term) -> str:
    factor, names = term
    return "*".join(names if factor == 1 and names else (str(factor), *names))


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
    if not isinstance(value, Varying):
        return value
    assert value.expr is not None, "the size is inferred"
    return value.expr.value(sizes)
