"""Import rules of order statistics, of rolling, and of scans and sorting of values without
dimensions."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.errors import Unsupported
from spirloom.sizes import refuse_symbolic
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import Results, imports
from spirloom.torch.values import Item

_INDEX = np.dtype(np.int64)


@imports("aten.median", "aten.median.dim", "aten.kthvalue")
def order_statistic(ctx: CallContext) -> Item:
    """The k-th smallest value along a dimension, and its index; the median is the lower one. As in
    a sorted sequence, NaNs are the largest; a median is NaN if there is one.
    """
    x = ctx.value("self")
    is_median, of_all = ctx.target != "aten.kthvalue", ctx.target == "aten.median"
    shape = (prod(x.shape),) if of_all or not x.shape else tuple(x.shape)
    x = ctx.view(x, shape)
    dim = 0 if of_all else ctx.axis("dim", len(shape), -1)
    refuse_symbolic(shape[dim])
    if shape[dim] == 0:
        raise Unsupported("it has no elements along the dimension")
    k = (shape[dim] - 1) // 2 if is_median else ctx.integer("k") - 1
    if not 0 <= k < shape[dim]:
        raise Unsupported(f"k ({k + 1}) is out of range for {shape[dim]} elements")
    values, indices = ctx.emit_all("aten.sort", x=x, dim=dim, descending=False)[:2]
    found = [ctx.inner("aten.select.int", part, dim=dim, index=k) for part in (values, indices)]
    if is_median and ctx.out_dtype().kind == "f":
        is_nan = ctx.inner("aten.isnan", ctx.inner("aten.select.int", values, dim=dim, index=-1))
        is_nan_of_x = ctx.cast(ctx.inner("aten.isnan", x), _INDEX)
        nan = ctx.inner("aten.argmax", is_nan_of_x, dim=dim)
        found = [
            ctx.inner("aten.where.self", is_nan, np.asarray(np.nan, ctx.out_dtype()), found[0]),
            ctx.inner("aten.where.self", is_nan, nan, found[1]),
        ]
    value, index = (ctx.view(part, ctx.shape()) for part in found)
    return value if of_all else Results((value, ctx.cast(index, _INDEX)))


@imports("aten.roll")
def roll(ctx: CallContext) -> Item:
    """Rolling along dimensions; without dimensions, of the flattened tensor."""
    x, shifts, dims = ctx.value("self"), ctx.integers("shifts"), ctx.integers("dims")
    if dims or len(x.shape) == 1:
        return ctx.apply("aten.roll", x=x, shifts=shifts, dims=dims)
    if len(shifts) != 1:
        raise Unsupported(f"it has {len(shifts)} shifts and no dimensions")
    rolled = ctx.inner("aten.roll", ctx.view(x, (prod(x.shape),)), shifts=shifts)
    return ctx.view(rolled, ctx.shape())


_OF_ONE = frozenset((
    "aten.cumsum", "aten.cumprod", "aten.logcumsumexp", "aten.cummax", "aten.cummin", "aten.sort",
    "aten.sort.stable", "aten.topk",
))  # fmt: skip


def one_value(ctx: CallContext) -> Item | None:
    """The results of a scan or sort of a value without dimensions: itself, and the index 0. None
    for other calls.
    """
    if ctx.target not in _OF_ONE:
        return None
    x = ctx.value("self")
    if x.shape:
        return None
    value = ctx.cast(x, ctx.out_dtype())
    return value if len(ctx.shapes) == 1 else Results((value, np.zeros((), _INDEX)))
