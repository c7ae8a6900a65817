"""Size expressions read from graph files."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose, isnan

from spec_model.flatbuffer import MalformedBuffer, Row
from spec_model.graph_file import INFERRED
from spirloom.number_expr import MAX_OPERATIONS, NumberExpr, NumberOp, SymFloat
from spirloom.size_expr import MAX_DEPTH, MAX_FACTORS
from spirloom.sizes import SizeExpr, SizeOp, Symbol, Term, Varying

MAX_SIZE = (1 << 31) - 1
MAX_NESTED = 1 << 12  # terms of an expression with those of nested ones


class SizeReader:
    """The symbols and expressions of a graph file's root table, checked."""

    def __init__(self, root: Row) -> None:
        self.symbols = tuple(_symbol(i, entry) for i, entry in enumerate(root["symbols"]))
        self._greatest = {symbol.name: symbol.max for symbol in self.symbols}
        if len(self._greatest) != len(self.symbols):
            raise MalformedBuffer("two of its symbols have one name")
        self._exprs: list[SizeExpr] = []
        self._counts: list[int] = []  # of terms, with those of nested expressions
        self._depths: list[int] = []
        for index, entry in enumerate(root["sizes"]):
            self._exprs.append(self._expr(index, entry))
        self._numbers: list[NumberExpr] = []
        for index, entry in enumerate(root["numbers"]):
            self._numbers.append(self._number(index, entry))

    def varying(
        self, ints: tuple[int, ...], sizes: Sequence[int], what: str, may_be_inferred: bool = False
    ) -> tuple[int, ...]:
        """The ints, with symbolic ones as Varying. `sizes` is the accompanying field."""
        entries = list(sizes)
        if not entries:
            return ints
        known = [entry for entry in entries if entry != INFERRED or not may_be_inferred]
        if len(entries) != len(ints) or max(known, default=0) > len(self._exprs):
            raise MalformedBuffer(f"{what} has the sizes {entries} for {list(ints)}")
        return tuple(
            self._one(value, entry, what) for value, entry in zip(ints, entries, strict=True)
        )

    def number(self, value: float, entry: int, what: str) -> float | SymFloat:
        """A float, as a SymFloat if it depends on sizes. `entry` is the accompanying field."""
        if entry == 0:
            return value
        if entry > len(self._numbers):
            raise MalformedBuffer(f"{what} has the number {entry} of {len(self._numbers)}")
        expr = self._numbers[entry - 1]
        known = expr.at(self._greatest)
        if not isclose(known, value, rel_tol=1e-9) and not (isnan(known) and isnan(value)):
            raise MalformedBuffer(f"{what} has {value}, but {expr} is {known} at its maximum")
        return SymFloat(known, expr)

    def _number(self, index: int, entry: Row) -> NumberExpr:
        if entry["op"] not in set(NumberOp):
            raise MalformedBuffer(f"number {index} has the operation {entry['op']}")
        op = NumberOp(entry["op"])
        operands = entry["operands"]
        if len(operands) != op.operands or max(operands, default=-1) >= index:
            raise MalformedBuffer(f"number {index} ({op.name}) has the operands {list(operands)}")
        parts = tuple(self._numbers[operand] for operand in operands)
        count = 1 + sum(part.count for part in parts)
        if count > MAX_OPERATIONS:
            raise MalformedBuffer(f"number {index} has {count} operations")
        if op is not NumberOp.SIZE:
            return NumberExpr(op, parts, float(entry["value"]), count=count)
        if entry["size"] >= len(self._exprs):
            raise MalformedBuffer(f"number {index} has the size {entry['size']}")
        return NumberExpr(op, size=self._exprs[entry["size"]])

    def _one(self, value: int, entry: int, what: str) -> int:
        if entry == 0:
            return value
        if entry == INFERRED:
            return Varying(value, None)
        expr = self._exprs[entry - 1]
        if expr.value(self._greatest) != value:
            raise MalformedBuffer(f"{what} has {value}, but {expr} is its maximum")
        return Varying(value, expr)

    def _expr(self, index: int, entry: Row) -> SizeExpr:
        terms: list[Term] = []
        count, depth = 1, 1
        for term in entry["terms"]:
            indices = term["symbols"]
            if len(indices) > MAX_FACTORS or max(indices, default=0) >= max(len(self.symbols), 1):
                raise MalformedBuffer(f"size {index} multiplies the symbols {list(indices)}")
            nested = term["sizes"]
            if len(nested) > MAX_FACTORS or max(nested, default=-1) >= index:
                raise MalformedBuffer(f"size {index} multiplies the sizes {list(nested)}")
            parts = [self.symbols[position].name for position in indices]
            earlier = [self._exprs[position] for position in nested]
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
