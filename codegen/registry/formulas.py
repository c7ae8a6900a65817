"""The formulas of an op as bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from codegen.errors import Position
from codegen.expr.encode import encode
from codegen.expr.types import Expr
from codegen.op import Op
from codegen.spec import Let
from codegen.varint import counted, varint


def many(items: Iterable[bytes]) -> bytes:
    """A list: its length, then its items."""
    items = list(items)
    return varint(len(items)) + b"".join(items)


@dataclass(frozen=True, slots=True)
class Formulas:
    """Encodes expressions over an op's names."""

    places: Mapping[str, int]  # of args, outputs and lets, each numbered among its kind
    position: Position

    @staticmethod
    def of(op: Op) -> Formulas:
        """For the expressions of `op`."""
        places = {arg.name: arg.index for arg in op.args}
        places |= {output.name: output.index for output in op.outputs}
        lets = (step for step in op.steps if isinstance(step, Let))
        return Formulas(places | {let.name: i for i, let in enumerate(lets)}, op.position)

    def code(self, expression: Expr | None) -> bytes:
        """The counted bytes of the expression; those of None are empty."""
        return counted(
            b"" if expression is None else encode(expression, self.places, self.position)
        )
