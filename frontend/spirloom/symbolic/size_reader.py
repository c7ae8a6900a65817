"""Sizes and numbers of graph files as ints and floats of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose, isnan

from spec_model.flatbuffer import MalformedBuffer, Row
from spec_model.graph_sizes import INFERRED, GraphSizes
from spirloom.number_expr import MAX_OPERATIONS, NumberExpr, NumberOp, SymFloat
from spirloom.sizes import Varying


class SizeReader(GraphSizes):
    """The symbols, sizes and numbers of a graph file's root table, checked."""

    def __init__(self, root: Row) -> None:
        super().__init__(root)
        self._numbers: list[NumberExpr] = []
        for index, entry in enumerate(root["numbers"]):
            self._numbers.append(self._number(index, entry))

    def varying(
        self,
        ints: tuple[int, ...],
        entries: Sequence[int],
        what: str,
        may_be_inferred: bool = False,
    ) -> tuple[int, ...]:
        """The ints, with symbolic ones as Varying. `entries` is the accompanying field."""
        checked = self.checked(ints, entries, what, may_be_inferred)
        return tuple(map(self._varying, ints, checked))

    def _varying(self, value: int, entry: int) -> int:
        if entry == 0:
            return value
        return Varying(value, None if entry == INFERRED else self.exprs[entry - 1])

    def number(self, value: float, entry: int, what: str) -> float | SymFloat:
        """A float, as a SymFloat if it depends on sizes. `entry` is the accompanying field."""
        if entry == 0:
            return value
        if entry > len(self._numbers):
            raise MalformedBuffer(f"{what} has the number {entry} of {len(self._numbers)}")
        expr = self._numbers[entry - 1]
        known = expr.at(self.maximum)
        if not isclose(known, value, rel_tol=1e-9) and not (isnan(known) and isnan(value)):
            raise MalformedBuffer(f"{what} has {value}, but {expr} is {known} at its maximum")
        return SymFloat(known, expr)

    def _number(self, index: int, entry: Row) -> NumberExpr:
        if entry["op"] not in set(NumberOp):
            raise MalformedBuffer(f"number {index} has the operation {entry['op']}")
        op = NumberOp(entry["op"])
        operands = entry["operands"]
        if len(operands) != op.operands or any(operand >= index for operand in operands):
            raise MalformedBuffer(f"number {index} ({op.name}) has the operands {list(operands)}")
        parts = tuple(self._numbers[operand] for operand in operands)
        count = 1 + sum(part.count for part in parts)
        if count > MAX_OPERATIONS:
            raise MalformedBuffer(f"number {index} has {count} operations")
        if op is not NumberOp.SIZE:
            return NumberExpr(op, parts, float(entry["value"]), count=count)
        if entry["size"] >= len(self.exprs):
            raise MalformedBuffer(f"number {index} has the size {entry['size']}")
        return NumberExpr(op, size=self.exprs[entry["size"]])
