"""Size expressions in the form of graph files: nested sums, minima and maxima, divided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import reduce
from math import prod

from spec_model.symbolic import Size, Symbol
from spec_model.symbolic.expr import (
    Atom,
    Maximum,
    Minimum,
    Product,
    Quotient,
    Remainder,
    extreme,
    extremes,
    quotient,
)

# Limits of graph files.
MAX_TERMS, MAX_FACTORS, MAX_DEPTH = 16, 4, 8


class SizeOp(IntEnum):
    """How the terms of an expression are combined, with the codes of graph files."""

    SUM = 0
    MIN = 1
    MAX = 2


@dataclass(frozen=True, slots=True)
class SizeExpr:
    """The sum, minimum or maximum of the terms, divided and rounded down."""

    terms: tuple[Term, ...]
    divisor: int = 1
    op: SizeOp = SizeOp.SUM

    def value(self, sizes: Mapping[str, int]) -> int:
        """The value at these sizes of the symbols."""
        values = [f * prod(_value(part, sizes) for part in parts) for f, parts in self.terms]
        if self.op is SizeOp.SUM:
            return sum(values) // self.divisor
        return (min(values) if self.op is SizeOp.MIN else max(values)) // self.divisor

    @property
    def depth(self) -> int:
        """The number of nested expressions, itself included."""
        nested = [part for _, parts in self.terms for part in parts if isinstance(part, SizeExpr)]
        return 1 + max((part.depth for part in nested), default=0)

    def symbols(self) -> frozenset[str]:
        """The names of the symbols."""
        parts = [part for _, parts in self.terms for part in parts]
        nested = [part.symbols() for part in parts if isinstance(part, SizeExpr)]
        return frozenset(p for p in parts if isinstance(p, str)).union(*nested)

    def __str__(self) -> str:
        return self._text(nested=False)

    def _text(self, nested: bool) -> str:
        if self.op is SizeOp.SUM:
            text = " + ".join(map(_term_text, self.terms)) or "0"
            text = f"({text})" if self.divisor != 1 or (nested and len(self.terms) > 1) else text
        else:
            text = f"{self.op.name.lower()}({', '.join(map(_term_text, self.terms))})"
        text = text if self.divisor == 1 else f"{text}/{self.divisor}"
        return f"({text})" if nested and self.divisor != 1 else text


# A factor, and the symbols and expressions that it is multiplied with. They may repeat.
Term = tuple[int, tuple[str | SizeExpr, ...]]


def _value(part: str | SizeExpr, sizes: Mapping[str, int]) -> int:
    return sizes[part] if isinstance(part, str) else part.value(sizes)


def _term_text(term: Term) -> str:
    factor, parts = term
    texts = [part if isinstance(part, str) else part._text(nested=True) for part in parts]
    return "*".join(texts if factor == 1 and texts else (str(factor), *texts))


def size_from(expr: SizeExpr, symbols: Mapping[str, Symbol]) -> Size:
    """The expression of a form in graph files."""
    terms = [_size_of_term(term, symbols) for term in expr.terms]
    if expr.op is SizeOp.SUM:
        whole = sum(terms, start=Size.of(0))
    else:
        largest = expr.op is SizeOp.MAX
        whole = extreme(extremes(terms, largest), largest)
    return quotient(whole, Size.of(expr.divisor))


def _size_of_term(term: Term, symbols: Mapping[str, Symbol]) -> Size:
    factor, parts = term
    sizes = (
        Size.of(symbols[part]) if isinstance(part, str) else size_from(part, symbols)
        for part in parts
    )
    return reduce(lambda a, b: a * b, sizes, Size.of(factor))


class _NoForm(Exception):
    """A part of the expression has no form in graph files."""


def expression(size: Size) -> SizeExpr | None:
    """The form of an expression in graph files. None if it has none: quotients by a symbolic
    divisor, and expressions beyond the limits.
    """
    try:
        found = _expression(size)
    except _NoForm:
        return None
    return found if found.depth <= MAX_DEPTH else None


def _expression(size: Size) -> SizeExpr:
    size = _without_remainders(size)
    only = _only_atom(size)
    if isinstance(only, Minimum | Maximum):
        op = SizeOp.MAX if isinstance(only, Maximum) else SizeOp.MIN
        return _limited(SizeExpr(tuple(map(_as_term, only.operands)), 1, op))
    return _divided(size) or _limited(SizeExpr(tuple(_term(p, f) for p, f in size.terms.items())))


def _limited(expr: SizeExpr) -> SizeExpr:
    if len(expr.terms) > MAX_TERMS or any(len(parts) > MAX_FACTORS for _, parts in expr.terms):
        raise _NoForm
    return expr


def _only_atom(size: Size) -> Atom | None:
    """The atom that an expression consists of. None for others."""
    if len(size.terms) != 1:
        return None
    ((product, factor),) = size.terms.items()
    return product[0] if factor == 1 and len(product) == 1 else None


def _divided(size: Size) -> SizeExpr | None:
    """x // d + y as (x + d y) // d. None if the expression has no or several quotients."""
    parts = {atom for product in size.terms for atom in product if isinstance(atom, Quotient)}
    if len(parts) != 1:
        return None
    (part,) = parts
    if part.divisor is None or size.terms.get((part,)) != 1:
        return None
    if sum(part in product for product in size.terms) != 1:
        return None
    whole = _expression(part.operands[0] + (size - Size.of(part)) * part.divisor)
    if whole.divisor != 1:
        whole = SizeExpr(((1, (whole,)),))
    return SizeExpr(whole.terms, part.divisor, whole.op)


def _without_remainders(size: Size) -> Size:
    """The expression with a - d (a // d) for each remainder of a constant d."""
    if not any(isinstance(atom, Remainder) for product in size.terms for atom in product):
        return size
    result = Size.of(0)
    for product, factor in size.terms.items():
        term = Size.of(factor)
        for atom in product:
            if isinstance(atom, Remainder):
                dividend, divisor = atom.operands
                whole = Size.of(Quotient(dividend, divisor))
                term = term * (dividend - whole * divisor)
            else:
                term = term * Size.of(atom)
        result = result + term
    return result


def _as_term(size: Size) -> Term:
    """An operand of a minimum or maximum."""
    if len(size.terms) > 1:
        return 1, (_expression(size),)
    return next((_term(product, factor) for product, factor in size.terms.items()), (0, ()))


def _term(product: Product, factor: int) -> Term:
    return factor, tuple(_part(atom) for atom in product)


def _part(atom: Atom) -> str | SizeExpr:
    if isinstance(atom, Symbol):
        return atom.name
    if isinstance(atom, Quotient) and atom.divisor is None:
        raise _NoForm
    return _expression(Size.of(atom))
