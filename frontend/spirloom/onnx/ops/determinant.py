"""Det, of small matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts

MAX_DETERMINANT = 4


@converts("Det")
def determinant(ctx: NodeContext) -> Tensor:
    """By cofactors: of the last rows, the minor of each choice of as many columns."""
    x = ctx.ranked(0, 2)
    size = x.shape[-1]
    if x.shape[-2] != size or not 1 <= size <= MAX_DETERMINANT:
        raise Unsupported(
            f"determinants of matrices up to {MAX_DETERMINANT} x {MAX_DETERMINANT} are supported, "
            f"not of {x}; larger ones are computed with pivots, on the host"
        )
    build, rank = ctx.build, len(x.shape)
    rows = [build.select(x, rank - 2, row) for row in range(size)]
    cells = [[build.select(row, rank - 2, column) for column in range(size)] for row in rows]
    minors: dict[tuple[int, ...], Tensor] = {(i,): cell for i, cell in enumerate(cells[-1])}
    for count in range(2, size + 1):
        minors = {
            columns: _expanded(ctx, cells[size - count], columns, minors)
            for columns in combinations(range(size), count)
        }
    return minors[tuple(range(size))]


def _expanded(
    ctx: NodeContext,
    row: Sequence[Tensor],
    columns: tuple[int, ...],
    minors: Mapping[tuple[int, ...], Tensor],
) -> Tensor:
    """The determinant of a row and the rows below, by the minors of these."""
    terms = [
        ctx.build.mul(row[column], minors[columns[:i] + columns[i + 1 :]])
        for i, column in enumerate(columns)
    ]
    total = terms[0]
    for i, term in enumerate(terms[1:], 1):
        total = ctx.build.emit("aten.sub.Tensor" if i % 2 else "aten.add.Tensor", a=total, b=term)
    return total
