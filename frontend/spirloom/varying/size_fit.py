"""Size expressions fitted to values at sample sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from math import prod

import numpy as np

from spirloom.sizes import SizeExpr, Symbol
from spirloom.varying.floor_fit import FloorFit, floor_fit

# Sample sizes per symbol. Smaller ranges are sampled completely.
COUNT = 5
_CONSECUTIVE = 12


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


def dense_points(symbols: Sequence[Symbol]) -> list[dict[str, int]]:
    """`points` and consecutive sizes at both ends of each range, for values that are cheap."""
    chosen, greatest = points(symbols), {symbol.name: symbol.max for symbol in symbols}
    for symbol in symbols:
        sizes = range(_sizes(symbol)[-1], symbol.max + 1)
        ends = dict.fromkeys([*sizes[:_CONSECUTIVE], *sizes[-_CONSECUTIVE:]])
        chosen += [{**greatest, symbol.name: size} for size in ends]
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

SMALL_RANGE = 32  # sizes of a symbol that are all compared if its formulas have divisions
MAX_DEGREE = 3
MAX_TERMS = 3


class Fitter:
    """Fits expressions to the values at fixed points: the sizes of all symbols at each."""

    def __init__(self, symbols: Sequence[Symbol], points: Sequence[Sizes]) -> None:
        self._points = points
        self._symbols = symbols
        self._names = [symbol.name for symbol in symbols]
        ranges = [symbol.max - symbol.min + 1 for symbol in symbols]
        # An expression is accepted if a further point confirms it, or if there is no other point.
        self._spare = 0 if prod(ranges) == len(points) else 1
        self._supports = list(self._all_supports())
        self._found: dict[tuple[int, ...], SizeExpr | FloorFit | None] = {}

    def fit(self, samples: Sequence[int]) -> SizeExpr | None:
        """The simplest expression with these values at the points, if there is one.

        A division is accepted only if the points determine it.
        """
        found = self._candidate(tuple(samples))
        return found.expr if isinstance(found, FloorFit) else found

    def open_points(self, rows: Iterable[Sequence[int]]) -> list[Sizes]:
        """Further points that confirm or refute the divisions found for the values of each row: in
        a small range, all sizes above the first point; else some."""
        found = [self._candidate(tuple(row)) for row in rows]
        fits = {fit for fit in found if isinstance(fit, FloorFit)}
        greatest = {symbol.name: symbol.max for symbol in self._symbols}
        chosen: list[Sizes] = []
        for symbol in self._symbols:
            name = symbol.name
            if symbol.max - symbol.min < SMALL_RANGE and any(fit.name == name for fit in fits):
                least = min(point[name] for point in self._points)
                chosen += [{**greatest, name: size} for size in range(least, symbol.max + 1)]
                continue
            wanted = [want for fit in fits if fit.name == name for want in fit.open_sizes]
            votes = Counter(pair for want in wanted for pair in want)
            while wanted:  # points that serve many formulas first
                pair = max((p for want in wanted for p in want), key=lambda p: votes[p])
                chosen += [{**greatest, name: size} for size in pair]
                wanted = [want for want in wanted if pair not in want]
        fresh = [point for point in chosen if point not in self._points]
        return [point for i, point in enumerate(fresh) if point not in fresh[:i]]

    def _candidate(self, samples: tuple[int, ...]) -> SizeExpr | FloorFit | None:
        if samples not in self._found:
            self._found[samples] = self._search(samples)
        return self._found[samples]

    def _search(self, samples: tuple[int, ...]) -> SizeExpr | FloorFit | None:
        for support in self._supports:
            if len(support) + self._spare > len(self._points):
                continue
            found = self._sum(support, samples)
            if found is not None:
                return found
        floors = (self._floored(symbol, samples) for symbol in self._symbols)
        return next((floor for floor in floors if floor is not None), None)

    def _floored(self, symbol: Symbol, samples: tuple[int, ...]) -> FloorFit | None:
        known: dict[int, int] = {}
        for point, value in zip(self._points, samples, strict=True):
            if known.setdefault(point[symbol.name], value) != value:
                return None  # another symbol changes it
        return floor_fit(symbol, known)

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

    def _confirmed(self, expr: SizeExpr, samples: tuple[int, ...]) -> SizeExpr | None:
        values = (expr.value(point) for point in self._points)
        return expr if all(a == b for a, b in zip(values, samples, strict=True)) else None
