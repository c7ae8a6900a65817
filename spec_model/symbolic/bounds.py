"""Bounds of size expressions, and proofs of comparisons: by bounds, or at all sizes of a range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product as combinations
from math import lcm, prod
from operator import floordiv, mod, mul

from spec_model.symbolic.expr import (
    Atom,
    Maximum,
    Minimum,
    Product,
    Quotient,
    Remainder,
    Size,
    Symbol,
    at_maximum,
)

# The number of combinations of sizes that are compared one by one.
MAX_SIZES = 1024
# Cases of minima and maxima, and terms of an expression, that bounds are derived for.
_MAX_CASES, _MAX_TERMS, _MAX_DEGREE = 16, 64, 6


@dataclass(frozen=True, slots=True)
class Range:
    """The values from low to high, both included."""

    low: int
    high: int


@lru_cache(maxsize=1 << 14)
def range_of(size: Size) -> Range:
    """A range that contains all values of an expression; exact for few sizes of the symbols."""
    if size.constant is not None:
        return Range(size.constant, size.constant)
    values = _values(size)
    if values is not None:
        return Range(min(values), max(values))
    return _derived(size)


def _derived(size: Size) -> Range:
    """Bounds from those of the parts."""
    plain = _interval(size, {})
    for refined in (_without_quotients(size), _by_cases(size)):
        if refined is not None:
            plain = Range(max(plain.low, refined.low), min(plain.high, refined.high))
    return plain


@lru_cache(maxsize=1 << 14)
def sign(size: Size) -> tuple[bool, bool, bool]:
    """Whether an expression can be negative, zero and positive."""
    bounds = range_of(size)
    if bounds.low > 0 or bounds.high < 0 or size.constant is not None:
        return bounds.low < 0, size.constant == 0, bounds.high > 0
    values = _values(size)
    if values is None:
        return bounds.low < 0, True, bounds.high > 0
    return bounds.low < 0, 0 in values, bounds.high > 0


def sizes_of(symbols: frozenset[Symbol]) -> Iterator[dict[str, int]]:
    """All combinations of the symbols' sizes."""
    ordered = sorted(symbols, key=lambda symbol: symbol.name)
    for values in combinations(*(range(s.min, s.max + 1) for s in ordered)):
        yield {symbol.name: value for symbol, value in zip(ordered, values, strict=True)}


@lru_cache(maxsize=1 << 10)
def _values(size: Size) -> frozenset[int] | None:
    """All values of an expression. None if there are too many sizes."""
    if prod(symbol.max - symbol.min + 1 for symbol in size.symbols) > MAX_SIZES:
        return None
    return frozenset(_column(size, size.symbols))


Column = list[int]  # the values of an expression, in the order of sizes_of()


def _column(size: Size, symbols: frozenset[Symbol]) -> Column:
    """The values at all sizes of the symbols, which include those of the expression."""
    terms = size.terms or {(): 0}
    columns = [_scaled(product, factor, symbols) for product, factor in terms.items()]
    return columns[0] if len(columns) == 1 else list(map(sum, zip(*columns, strict=True)))


def _scaled(product: Product, factor: int, symbols: frozenset[Symbol]) -> Column:
    """The values of a term."""
    if not product:
        return [factor] * prod(symbol.max - symbol.min + 1 for symbol in symbols)
    column = _atom_column(product[0], symbols)
    for atom in product[1:]:
        column = list(map(mul, column, _atom_column(atom, symbols)))
    return column if factor == 1 else [factor * value for value in column]


@lru_cache(maxsize=1 << 8)
def _atom_column(atom: Atom, symbols: frozenset[Symbol]) -> Column:
    if isinstance(atom, Symbol):
        return [sizes[atom.name] for sizes in sizes_of(symbols)]
    columns = [_column(operand, symbols) for operand in atom.operands]
    match atom:
        case Minimum():
            return list(map(min, *columns))
        case Maximum():
            return list(map(max, *columns))
        case Remainder():
            return list(map(mod, *columns))
        case Quotient():
            return list(map(floordiv, *columns))


Ranges = Mapping[Atom, Range]


@lru_cache(maxsize=1 << 12)
def _range_of_atom(atom: Atom) -> Range:
    if isinstance(atom, Symbol):
        return Range(atom.min, atom.max)
    ranges = [range_of(operand) for operand in atom.operands]
    match atom:
        case Minimum():
            return Range(min(r.low for r in ranges), min(r.high for r in ranges))
        case Maximum():
            return Range(max(r.low for r in ranges), max(r.high for r in ranges))
        case Remainder():
            dividend, divisor = ranges
            high = divisor.high - 1
            return Range(0, min(high, dividend.high) if dividend.low >= 0 else high)
        case Quotient():
            ends = [a // b for a in (ranges[0].low, ranges[0].high)
                    for b in (ranges[1].low, ranges[1].high)]  # fmt: skip
            return Range(min(ends), max(ends))


def _interval(size: Size, known: Ranges) -> Range:
    """Bounds by the substitutions x = low + t and x = high - t for each atom: then each product of
    the t is between zero and the product of their widths."""
    if len(size.terms) > _MAX_TERMS or max(map(len, size.terms), default=0) > _MAX_DEGREE:
        return _plain(size, known)
    found: list[Range] = []
    for from_low in (True, False):
        shifted: dict[Product, int] = {}
        for product, factor in size.terms.items():
            for part, more in _expanded(product, known, from_low).items():
                shifted[part] = shifted.get(part, 0) + factor * more
        low = high = shifted.pop((), 0)
        for product, factor in shifted.items():
            width = prod(_width(atom, known) for atom in product)
            low += min(factor, 0) * width
            high += max(factor, 0) * width
        found.append(Range(low, high))
    return Range(max(r.low for r in found), min(r.high for r in found))


def _atom_range(atom: Atom, known: Ranges) -> Range:
    return known[atom] if atom in known else _range_of_atom(atom)


def _width(atom: Atom, known: Ranges) -> int:
    own = _atom_range(atom, known)
    return own.high - own.low


def _expanded(product: Product, known: Ranges, from_low: bool) -> dict[Product, int]:
    """The product of (low + t) or (high - t), as terms in the t, which the atoms denote."""
    result: dict[Product, int] = {(): 1}
    for atom in product:
        own = _atom_range(atom, known)
        start, step = (own.low, 1) if from_low else (own.high, -1)
        terms: dict[Product, int] = {}
        for part, factor in result.items():
            terms[part] = terms.get(part, 0) + factor * start
            longer = tuple(sorted((*part, atom), key=lambda a: a.text))
            terms[longer] = terms.get(longer, 0) + factor * step
        result = terms
    return result


def _plain(size: Size, known: Ranges) -> Range:
    """Bounds by interval arithmetic of each term."""
    low = high = 0
    for product, factor in size.terms.items():
        ends = [factor]
        for atom in product:
            own = _atom_range(atom, known)
            ends = [end * value for end in ends for value in (own.low, own.high)]
            ends = [min(ends), max(ends)]
        low, high = low + min(ends), high + max(ends)
    return Range(low, high)


def _without_quotients(size: Size) -> Range | None:
    """Bounds with each quotient x // d of a constant d as (x - x % d) / d. None without any."""
    atoms = {atom for product in size.terms for atom in product}
    found = {a: a.divisor for a in atoms if isinstance(a, Quotient) and a.divisor is not None}
    if not found:
        return None
    scale = lcm(*found.values())
    result = Size.of(0)
    known: dict[Atom, Range] = {}
    for product, factor in size.terms.items():
        term = Size({product: factor}) * scale
        for atom in product:
            if isinstance(atom, Quotient) and atom in found:
                rest = Remainder(*atom.operands)
                known[rest] = Range(0, found[atom] - 1)
                others = list(product)
                others.remove(atom)
                by = Size({tuple(others): factor * (scale // found[atom])})
                term = by * (atom.operands[0] - Size.of(rest))
        result = result + term
    bounds = _interval(result, known)
    return Range(-(-bounds.low // scale), bounds.high // scale)


def _by_cases(size: Size) -> Range | None:
    """Bounds with a minimum or maximum replaced by each of its operands, one of which it is. None
    without any."""
    atoms = {atom for product in size.terms for atom in product}
    chosen = sorted((a for a in atoms if isinstance(a, Minimum | Maximum)), key=lambda a: a.text)
    if not chosen or prod(len(atom.operands) for atom in chosen) > _MAX_CASES:
        return None
    atom = chosen[0]
    found = [range_of(_replaced(size, atom, operand)) for operand in atom.operands]
    lows, highs = [r.low for r in found], [r.high for r in found]
    products = [product for product in size.terms if atom in product]
    if products != [(atom,)]:
        return Range(min(lows), max(highs))
    # The expression is the minimum or maximum of those with the operands.
    is_maximum = isinstance(atom, Maximum) == (size.terms[(atom,)] > 0)
    return Range(max(lows), max(highs)) if is_maximum else Range(min(lows), min(highs))


def _replaced(size: Size, atom: Atom, operand: Size) -> Size:
    result = Size.of(0)
    for product, factor in size.terms.items():
        term = Size.of(factor)
        for each in product:
            term = term * (operand if each == atom else Size.of(each))
        result = result + term
    return result


__all__ = ["MAX_SIZES", "Range", "at_maximum", "range_of", "sign", "sizes_of"]
