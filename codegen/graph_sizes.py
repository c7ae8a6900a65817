"""Sizes that vary in graph files: the ints of a graph at some of the sizes it takes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import product
from math import prod

from codegen.flatbuffer import MalformedBuffer, Values

# In place of the index of an expression: the size varies as shape inference tells.
INFERRED = (1 << 32) - 1
# Beyond the least and the greatest: consecutive sizes, which have every remainder by 4.
_CONSECUTIVE = 5
_MAX_POINTS = 256

Point = tuple[int, ...]  # the size of each symbol


class GraphSizes:
    """The symbols and expressions of a graph file's root table."""

    def __init__(self, root: Values) -> None:
        bounds = [(_signed(s.get(1, 0)), _signed(s.get(2, 0))) for s in root.get(8, [])]
        if any(not 0 <= least <= greatest for least, greatest in bounds):
            raise MalformedBuffer(f"the bounds of its symbols are {bounds}")
        self._bounds = bounds
        self._exprs = [self._expr(row) for row in root.get(9, [])]

    def points(self) -> list[Point]:
        """The greatest sizes, and others that may need other kernels."""
        lists = [_sizes(*bounds) for bounds in self._bounds]
        while prod(map(len, lists)) > _MAX_POINTS:
            lists = [sizes[: (len(sizes) + 1) // 2] for sizes in lists]
        return list(product(*lists))

    def at(self, ints: Sequence[int], entries: bytes, point: Point) -> tuple[int, ...] | None:
        """The ints at a point; `entries` is the field beside them. None where one is inferred."""
        places = struct.unpack(f"<{len(entries) // 4}I", entries)
        if not places or point == tuple(greatest for _, greatest in self._bounds):
            return tuple(ints)
        if INFERRED in places:
            return None
        if len(places) != len(ints) or max(places) > len(self._exprs):
            raise MalformedBuffer(f"the sizes {places} stand beside {list(ints)}")
        return tuple(
            self._value(place - 1, point) if place else value
            for value, place in zip(ints, places, strict=True)
        )

    def _value(self, index: int, point: Point) -> int:
        terms, divisor = self._exprs[index]
        return sum(factor * prod(point[s] for s in symbols) for factor, symbols in terms) // divisor

    def _expr(self, row: Values) -> tuple[list[tuple[int, Point]], int]:
        terms = []
        for term in row.get(0, []):
            data = term.get(1, b"")
            symbols = struct.unpack(f"<{len(data) // 4}I", data)
            if max(symbols, default=-1) >= len(self._bounds):
                raise MalformedBuffer(f"one of its sizes multiplies the symbols {symbols}")
            terms.append((_signed(term.get(0, 0)), symbols))
        divisor = _signed(row.get(1, 1))
        if divisor < 1:
            raise MalformedBuffer(f"one of its sizes is divided by {divisor}")
        return terms, divisor


def _sizes(least: int, greatest: int) -> list[int]:
    """The greatest first, then the least and those after it, then one from the middle."""
    others = [*range(least, min(least + _CONSECUTIVE, greatest)), (least + greatest) // 2]
    return list(dict.fromkeys([greatest, *others]))


def _signed(number: int) -> int:
    """The int64 whose bits, read as an unsigned number, these are."""
    return number - (1 << 64) if number >> 63 else number
