"""The symbols and sizes of a graph file, checked: the importers, the generator and tools read them
here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from spec_model.flatbuffer import MalformedBuffer, Row
from spec_model.size_expr import MAX_DEPTH, MAX_FACTORS, SizeExpr, SizeOp, Term
from spec_model.symbolic import Symbol

# Instead of the index of an expression: shape inference computes the size.
INFERRED = (1 << 32) - 1
MAX_SIZE = (1 << 31) - 1
MAX_NESTED = 1 << 12  # terms of an expression with those of nested ones

# Consecutive sizes in addition to the maximum: they cover every remainder modulo 4.
_CONSECUTIVE = 5
_MAX_POINTS = 256
_MAX_VALUE = 1 << 63

Point = tuple[int, ...]  # the size of each symbol


class GraphSizes:
    """The symbols and expressions of a method. Raises MalformedBuffer."""

    def __init__(self, root: Row) -> None:
        self.symbols = tuple(_symbol(i, entry) for i, entry in enumerate(root["symbols"]))
        self.maximum = {symbol.name: symbol.max for symbol in self.symbols}
        if len(self.maximum) != len(self.symbols):
            raise MalformedBuffer("two of its symbols have one name")
        self.exprs: list[SizeExpr] = []
        self._counts: list[int] = []  # of terms, with those of nested expressions
        self._depths: list[int] = []
        for index, entry in enumerate(root["sizes"]):
            self.exprs.append(self._expr(index, entry))
        self._known: tuple[Point, dict[int, int]] = ((), {})  # the values of entries at a point

    def checked(
        self, ints: Sequence[int], entries: Sequence[int], what: str, may_be_inferred: bool = False
    ) -> list[int]:
        """The entry of each int: 0 if it is fixed, INFERRED, or 1 + the index of its expression.
        `entries` is the accompanying field."""
        if not entries:
            return [0] * len(ints)
        found = list(entries)
        known = [entry for entry in found if entry != INFERRED or not may_be_inferred]
        if len(found) != len(ints) or max(known, default=0) > len(self.exprs):
            raise MalformedBuffer(f"{what} has the sizes {found} for {list(ints)}")
        for value, entry in zip(ints, found, strict=True):
            if entry not in (0, INFERRED) and self.exprs[entry - 1].value(self.maximum) != value:
                raise MalformedBuffer(
                    f"{what} has {value}, but {self.exprs[entry - 1]} is its maximum"
                )
        return found

    def points(self) -> list[Point]:
        """The maximum sizes first, then others that may select other kernels."""
        lists = [_sizes(symbol.min, symbol.max) for symbol in self.symbols]
        while prod(map(len, lists)) > _MAX_POINTS:
            lists = [sizes[: (len(sizes) + 1) // 2] for sizes in lists]
        return list(product(*lists))

    def at(
        self, ints: Sequence[int], entries: Sequence[int], point: Point, what: str
    ) -> tuple[int, ...] | None:
        """The ints at a point, by their size entries. None if one of them is inferred."""
        if not entries or point == tuple(self.maximum.values()):
            return tuple(ints)
        if INFERRED in entries:
            return None
        found = self.checked(ints, entries, what)
        return tuple(
            self._value(entry, point) if entry else value
            for value, entry in zip(ints, found, strict=True)
        )

    def _value(self, entry: int, point: Point) -> int:
        if self._known[0] != point:
            self._known = point, {}
        values = self._known[1]
        if entry not in values:
            sizes = dict(zip(self.maximum, point, strict=True))
            values[entry] = self.exprs[entry - 1].value(sizes)
            if not -_MAX_VALUE <= values[entry] < _MAX_VALUE:
                raise MalformedBuffer(f"its size {entry - 1} exceeds 64 bits")
        return values[entry]

    def _expr(self, index: int, entry: Row) -> SizeExpr:
        terms: list[Term] = []
        count, depth = 1, 1
        for term in entry["terms"]:
            indices = term["symbols"]
            if len(indices) > MAX_FACTORS or max(indices, default=-1) >= len(self.symbols):
                raise MalformedBuffer(f"size {index} multiplies the symbols {list(indices)}")
            nested = term["sizes"]
            if len(nested) > MAX_FACTORS or max(nested, default=-1) >= index:
                raise MalformedBuffer(f"size {index} multiplies the sizes {list(nested)}")
            parts = [self.symbols[position].name for position in indices]
            earlier = [self.exprs[position] for position in nested]
            count += 1 + sum(self._counts[position] for position in nested)
            depth = max([depth, *(1 + self._depths[position] for position in nested)])
            terms.append((term["factor"], (*parts, *earlier)))
        if count > MAX_NESTED or depth > MAX_DEPTH:
            raise MalformedBuffer(f"size {index} has {count} terms, nested {depth} deep")
        self._counts.append(count)
        self._depths.append(depth)
        if not 0 <= entry["op"] < len(SizeOp) or (entry["op"] and not terms):
            raise MalformedBuffer(
                f"size {index} has the operation {entry['op']}, {len(terms)} terms"
            )
        if entry["divisor"] < 1:
            raise MalformedBuffer(f"size {index} is divided by {entry['divisor']}")
        return SizeExpr(tuple(terms), entry["divisor"], SizeOp(entry["op"]))


def _symbol(index: int, entry: Row) -> Symbol:
    name = entry["name"]
    if not name or not 0 <= entry["min"] <= entry["max"] <= MAX_SIZE:
        raise MalformedBuffer(
            f"symbol {index} ({name!r}) has the bounds {entry['min']} and {entry['max']}"
        )
    return Symbol(name, entry["min"], entry["max"])


def _sizes(low: int, high: int) -> list[int]:
    """The maximum, then the minimum and its successors, then the mean."""
    others = [*range(low, min(low + _CONSECUTIVE, high)), (low + high) // 2]
    return list(dict.fromkeys([high, *others]))
