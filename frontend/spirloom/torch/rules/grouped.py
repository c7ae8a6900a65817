"""Import rules of grouped matrix multiplication, as of the experts of mixture-of-experts layers."""

from __future__ import annotations

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import imports
from spirloom.torch.values import Item


@imports("aten._grouped_mm", "transformers.grouped_mm_fallback")
def grouped_mm(ctx: CallContext) -> Item:
    """Consecutive rows of x times one matrix of `weight` for each group; zeros after the last.

    One GEMM: each row is placed in the columns of its group, among zeros.
    """
    names = ("self", "mat2") if ctx.target.startswith("aten") else ("input", "weight")
    x, weight = (ctx.value(name) for name in names)
    if ctx.has("bias"):
        raise Unsupported("its argument 'bias' is not supported")
    if not ctx.has("offs"):
        return ctx.apply("aten.bmm", a=x, b=weight)
    if (len(x.shape), len(weight.shape)) != (2, 3):
        raise Unsupported(
            f"its operands have ranks {len(x.shape)} and {len(weight.shape)}; groups are supported "
            "for ranks 2 and 3"
        )
    groups, depth, width = weight.shape
    placed = _in_columns_of_groups(ctx, x, ctx.value("offs"), groups)
    matrix = ctx.view(weight, (groups * depth, width))
    if isinstance(matrix, np.ndarray):
        product = ctx.apply("aten.linear", x=placed, weight=ctx.permute(matrix, (1, 0)))
    else:
        product = ctx.apply("aten.mm", a=placed, b=matrix)
    return ctx.cast(product, ctx.out_dtype())


def _in_columns_of_groups(ctx: CallContext, x: Value, ends: Value, groups: int) -> Value:
    """[rows, groups * depth]: x[i, k] in column g * depth + k, where g is the group of row i."""
    rows, depth = x.shape
    index = np.arange(rows, dtype=np.int64).reshape(rows, 1)
    before_end = ctx.inner("aten.lt.Tensor", index, ends)
    parts = (np.zeros((rows, 1), np.bool_), ctx.slice(before_end, 1, 0, groups - 1))
    before_start = ctx.inner("aten.cat", parts, dim=1) if groups > 1 else parts[0]
    own = ctx.view(
        ctx.inner("aten.bitwise_xor.Tensor", before_end, before_start), (rows, groups, 1)
    )
    zero = np.zeros((), ctx.out_dtype())
    placed = ctx.typed("aten.where.self", condition=own, a=ctx.view(x, (rows, 1, depth)), b=zero)
    return ctx.view(placed, (rows, groups * depth))
