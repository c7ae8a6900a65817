"""Size expressions: fitted to values at sample sizes, and read from graph files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from math import gcd, prod
from typing import Any

import numpy as np

from spec_model.flatbuffer import MalformedBuffer
from spec_model.graph_file import INFERRED
from spirloom.sizes import SizeExpr, Symbol, Term, Varying

# Sample sizes per symbol. Smaller ranges are sampled completely.
COUNT = 5


def points(symbols: Sequence[Symbol]) -> list[dict[str, int]]:
    """Sample sizes of all symbols, the maximum first: each symbol varied separately, and all
    together.
    """
    greatest = {symbol.name: symbol.max for symbol in symbols}
    chosen = [greatest]
    for symbol in symbols:
        chosen += [{**greatest, symbol.name: size} for size in _sizes(symbol)[1:]]
    lists = [_sizes(symbol) for symbol in symbols]
    for step in range(1, max(map(len, lists), default=0)):
        chosen.append(
            {s.name: sizes[step % len(sizes)] for s, sizes in zip(symbols, lists, strict=True)}
        )
    return [point for i, point in enumerate(chosen) if point not in chosen[:i]]


def _sizes(symbol: Symbol) -> list[int]:
    """The maximum and other sizes. Small sizes are used only if there are no others, because
    broadcasting and views can have no effect there.
    """
    small = min(3, max(2, symbol.max - 2)) if symbol.max > 2 else 1
    minimum_size = max(symbol.min, small)
    if symbol.max - minimum_size < COUNT:
        return list(range(symbol.max, minimum_size - 1, -1))
    # Odd steps, so that both odd and even sizes occur.
    step = (symbol.max - minimum_size) // (COUNT - 1)
    inner = [symbol.max - i * step - i % 2 for i in range(1, COUNT - 1)]
    return [symbol.max, *inner, minimum_size]


Sizes = Mapping[str, int]
Names = tuple[str, ...]

MAX_DEGREE = 3
MAX_TERMS = 3
MAX_DIVISOR = 64


class Fitter:
    """Fits expressions to the values at fixed points: the sizes of all symbols at each."""

    def __init__(self, symbols: Sequence[Symbol], points: Sequence[Sizes]) -> None:
        self._points = points
        self._names = [symbol.name for symbol in symbols]
        ranges = [symbol.max - symbol.min + 1 for symbol in symbols]
        # An expression is accepted if a further point confirms it, or if there is no other point.
        self._spare = 0 if prod(ranges) == len(points) else 1
        self._supports = list(self._all_supports())
        self._found: dict[tuple[int, ...], SizeExpr | None] = {}

    def fit(self, samples: Sequence[int]) -> SizeExpr | None:
        """The simplest expression with these values at the points, if there is one."""
        key = tuple(samples)
        if key not in self._found:
            self._found[key] = self._search(key)
        return self._found[key]

    def _search(self, samples: tuple[int, ...]) -> SizeExpr | None:
        for support in self._supports:
            if len(support) + self._spare > len(self._points):
                continue
            found = self._sum(support, samples)
            if found is not None:
                return found
        return next((f for name in self._names if (f := self._floored(name, samples))), None)

    def _all_supports(self) -> Iterator[tuple[Names, ...]]:
        """Sets of products, the simplest first."""
        products: list[Names] = [()]
        for degree in range(1, MAX_DEGREE + 1):
            products += combinations_with_replacement(self._names, degree)
        supports = [s for n in range(1, MAX_TERMS + 1) for s in combinations(products, n)]
        return iter(sorted(supports, key=lambda s: (len(s), sum(map(len, s)))))

    def _sum(self, support: tuple[Names, ...], samples: tuple[int, ...]) -> SizeExpr | None:
        """A sum of the products with nonzero integer factors."""
        columns = [[prod(p[name] for name in names) for names in support] for p in self._points]
        matrix = np.array(columns, dtype=np.float64)
        scale = np.abs(matrix).max(axis=0)
        if np.linalg.matrix_rank(matrix / scale) < len(support):
            return None
        expected = np.array(samples, dtype=np.float64)
        solved = np.linalg.lstsq(matrix / scale, expected, rcond=None)[0] / scale
        factors = [round(factor) for factor in solved.tolist()]
        # Terms with symbols first: "2*height + 1".
        terms = sorted(zip(factors, support, strict=True), key=lambda term: not term[1])
        return self._confirmed(SizeExpr(tuple(terms)), samples) if all(factors) else None

    def _floored(self, name: str, samples: tuple[int, ...]) -> SizeExpr | None:
        """(factor · size + offset) / divisor, where the points determine the offset uniquely."""
        first, last = self._extremes(name)
        sizes = [point[name] for point in self._points]
        if sizes[first] == sizes[last]:
            return None
        slope = (samples[last] - samples[first]) / (sizes[last] - sizes[first])
        for divisor in range(2, MAX_DIVISOR + 1):
            for factor in {int(slope * divisor), int(slope * divisor) + 1}:
                if gcd(factor, divisor) != 1:
                    continue
                pairs = list(zip(sizes, samples, strict=True))
                low = max(divisor * n - factor * s for s, n in pairs)
                high = min(divisor * (n + 1) - factor * s - 1 for s, n in pairs)
                if low == high:
                    constant = ((low, ()),) if low else ()
                    return SizeExpr(((factor, (name,)), *constant), divisor)
        return None

    def _extremes(self, name: str) -> tuple[int, int]:
        order = sorted(range(len(self._points)), key=lambda i: self._points[i][name])
        return order[0], order[-1]

    def _confirmed(self, expr: SizeExpr, samples: tuple[int, ...]) -> SizeExpr | None:
        values = (expr.value(point) for point in self._points)
        return expr if all(a == b for a, b in zip(values, samples, strict=True)) else None


MAX_SIZE = (1 << 31) - 1
MAX_FACTORS = 4


class SizeReader:
    """The symbols and expressions of a graph file's root table, checked."""

    def __init__(self, root: Any) -> None:
        self.symbols = tuple(_symbol(i, entry) for i, entry in enumerate(root.symbols or []))
        self._greatest = {symbol.name: symbol.max for symbol in self.symbols}
        if len(self._greatest) != len(self.symbols):
            raise MalformedBuffer("two of its symbols have one name")
        self._exprs = [self._expr(i, entry) for i, entry in enumerate(root.sizes or [])]

    def varying(
        self, ints: tuple[int, ...], sizes: Any, what: str, may_be_inferred: bool = False
    ) -> tuple[int, ...]:
        """The ints, with symbolic ones as Varying. `sizes` is the accompanying field."""
        entries = [] if sizes is None else [int(entry) for entry in sizes]
        if not entries:
            return ints
        known = [entry for entry in entries if entry != INFERRED or not may_be_inferred]
        if len(entries) != len(ints) or max(known, default=0) > len(self._exprs):
            raise MalformedBuffer(f"{what} has the sizes {entries} for {list(ints)}")
        return tuple(
            self._one(value, entry, what) for value, entry in zip(ints, entries, strict=True)
        )

    def _one(self, value: int, entry: int, what: str) -> int:
        if entry == 0:
            return value
        if entry == INFERRED:
            return Varying(value, None)
        expr = self._exprs[entry - 1]
        if expr.value(self._greatest) != value:
            raise MalformedBuffer(f"{what} has {value}, but {expr} is its maximum")
        return Varying(value, expr)

    def _expr(self, index: int, entry: Any) -> SizeExpr:
        terms: list[Term] = []
        for term in entry.terms or []:
            indices = [] if term.symbols is None else [int(position) for position in term.symbols]
            if len(indices) > MAX_FACTORS or max(indices, default=0) >= max(len(self.symbols), 1):
                raise MalformedBuffer(f"size {index} multiplies the symbols {indices}")
            terms.append(
                (int(term.factor), tuple(self.symbols[position].name for position in indices))
            )
        if entry.divisor < 1:
            raise MalformedBuffer(f"size {index} is divided by {entry.divisor}")
        return SizeExpr(tuple(terms), int(entry.divisor))


def _symbol(index: int, entry: Any) -> Symbol:
    try:
        name = "" if entry.name is None else entry.name.decode()
    except UnicodeDecodeError as error:
        raise MalformedBuffer(f"the name {entry.name!r} is not UTF-8") from error
    if not name or not 0 <= entry.min <= entry.max <= MAX_SIZE:
        raise MalformedBuffer(
            f"symbol {index} ({name!r}) has the bounds {entry.min} and {entry.max}"
        )
    return Symbol(name, int(entry.min), int(entry.max))
