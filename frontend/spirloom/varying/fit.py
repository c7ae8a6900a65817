"""Finds how an int follows from sizes, given its values at some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement
from math import gcd, prod

import numpy as np

from spirloom.sizes import SizeExpr, Symbol

Sizes = Mapping[str, int]
Names = tuple[str, ...]

MAX_DEGREE = 3
MAX_TERMS = 3
MAX_DIVISOR = 64


class Fitter:
    """Fits expressions to values at fixed points: the sizes of all symbols at each."""

    def __init__(self, symbols: Sequence[Symbol], points: Sequence[Sizes]) -> None:
        self._points = points
        self._names = [symbol.name for symbol in symbols]
        ranges = [symbol.greatest - symbol.least + 1 for symbol in symbols]
        # An expression is believed if a point is left to confirm it, or there is no other point.
        self._spare = 0 if prod(ranges) == len(points) else 1
        self._supports = list(self._all_supports())
        self._found: dict[tuple[int, ...], SizeExpr | None] = {}

    def fit(self, numbers: Sequence[int]) -> SizeExpr | None:
        """The simplest expression with these values at the points, if there is one."""
        key = tuple(numbers)
        if key not in self._found:
            self._found[key] = self._search(key)
        return self._found[key]

    def _search(self, numbers: tuple[int, ...]) -> SizeExpr | None:
        for support in self._supports:
            if len(support) + self._spare > len(self._points):
                continue
            found = self._sum(support, numbers)
            if found is not None:
                return found
        return next((f for name in self._names if (f := self._floored(name, numbers))), None)

    def _all_supports(self) -> Iterator[tuple[Names, ...]]:
        """Sets of products, the simplest first."""
        products: list[Names] = [()]
        for degree in range(1, MAX_DEGREE + 1):
            products += combinations_with_replacement(self._names, degree)
        supports = [s for n in range(1, MAX_TERMS + 1) for s in combinations(products, n)]
        return iter(sorted(supports, key=lambda s: (len(s), sum(map(len, s)))))

    def _sum(self, support: tuple[Names, ...], numbers: tuple[int, ...]) -> SizeExpr | None:
        """A sum of the products with whole factors, none of them 0."""
        columns = [[prod(p[name] for name in names) for names in support] for p in self._points]
        matrix = np.array(columns, dtype=np.float64)
        scale = np.abs(matrix).max(axis=0)
        if np.linalg.matrix_rank(matrix / scale) < len(support):
            return None
        wanted = np.array(numbers, dtype=np.float64)
        solved = np.linalg.lstsq(matrix / scale, wanted, rcond=None)[0] / scale
        factors = [round(factor) for factor in solved.tolist()]
        # Terms with symbols first: "2*height + 1".
        terms = sorted(zip(factors, support, strict=True), key=lambda term: not term[1])
        return self._confirmed(SizeExpr(tuple(terms)), numbers) if all(factors) else None

    def _floored(self, name: str, numbers: tuple[int, ...]) -> SizeExpr | None:
        """(factor · size + offset) / divisor, where the points leave one offset alone."""
        first, last = self._extremes(name)
        sizes = [point[name] for point in self._points]
        if sizes[first] == sizes[last]:
            return None
        slope = (numbers[last] - numbers[first]) / (sizes[last] - sizes[first])
        for divisor in range(2, MAX_DIVISOR + 1):
            for factor in {int(slope * divisor), int(slope * divisor) + 1}:
                if gcd(factor, divisor) != 1:
                    continue
                pairs = list(zip(sizes, numbers, strict=True))
                low = max(divisor * n - factor * s for s, n in pairs)
                high = min(divisor * (n + 1) - factor * s - 1 for s, n in pairs)
                if low == high:
                    constant = ((low, ()),) if low else ()
                    return SizeExpr(((factor, (name,)), *constant), divisor)
        return None

    def _extremes(self, name: str) -> tuple[int, int]:
        order = sorted(range(len(self._points)), key=lambda i: self._points[i][name])
        return order[0], order[-1]

    def _confirmed(self, expr: SizeExpr, numbers: tuple[int, ...]) -> SizeExpr | None:
        values = (expr.value(point) for point in self._points)
        return expr if all(a == b for a, b in zip(values, numbers, strict=True)) else None
