"""Import rules of searches in sorted values, and of histograms."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import imports
from spirloom.torch.values import Item, is_value

_INDEX = np.dtype(np.int64)


@imports("aten.searchsorted.Tensor", "aten.searchsorted.Scalar")
def searchsorted(ctx: CallContext) -> Item:
    """The index at which each value keeps the sequence sorted."""
    sequence = ctx.value("sorted_sequence")
    if ctx.has("sorter"):
        dim = len(sequence.shape) - 1
        sequence = ctx.inner("aten.gather", sequence, dim=dim, index=ctx.value("sorter"))
    right = ctx.flag("right") or ctx.text("side") == "right"
    return _insertion_index(ctx, sequence, ctx.args["self"], right)


@imports("aten.bucketize.Tensor", "aten.bucketize.Scalar")
def bucketize(ctx: CallContext) -> Item:
    """The index of the bucket that contains each value."""
    return _insertion_index(ctx, ctx.value("boundaries"), ctx.args["self"], ctx.flag("right"))


def _insertion_index(ctx: CallContext, sequence: Value, values: Item, right: bool) -> Value:
    """The number of elements of the last dimension that are less than a value, or `right`: that do
    not exceed it. All, for NaN."""
    if is_value(values):
        values = ctx.view(values, (*values.shape, 1))
    if len(sequence.shape) > 1:
        shape = (*sequence.shape[:-1], 1, sequence.shape[-1])
        sequence = ctx.view(sequence, shape)
    op = "aten.gt.Tensor" if right else "aten.ge.Tensor"
    before = ctx.inner("aten.logical_not", ctx.inner(op, sequence, values))
    return _count(ctx, before, len(before.shape) - 1)


def _count(ctx: CallContext, mask: Value, dim: int) -> Value:
    """The number of true elements, in the type of the result."""
    found = ctx.inner("aten.sum.dim_IntList", ctx.cast(mask, _INDEX), (dim,))
    return ctx.view(ctx.cast(found, ctx.out_dtype()), ctx.shape())


@imports("aten.histc")
def histc(ctx: CallContext) -> Item:
    """The number of elements in each of the equal intervals between `min` and `max`."""
    low, high = (float(ctx.number(name, 0)) for name in ("min", "max"))
    if low >= high:
        raise Unsupported("its bounds depend on the data; pass min and max, with min < max")
    bins = ctx.integer("bins", 100)
    x = ctx.value("self")
    x = ctx.cast(ctx.view(x, (prod(x.shape), 1)), np.dtype(np.float32))
    position = ctx.inner("aten.sub.Tensor", x, low)
    position = ctx.inner("aten.div.Tensor", position, high - low)
    position = ctx.inner("aten.mul.Tensor", position, bins)
    position = ctx.inner("aten.clamp", ctx.inner("aten.floor", position), max=float(bins - 1))
    inside = [ctx.inner("aten.ge.Tensor", x, low), ctx.inner("aten.le.Tensor", x, high)]
    equal = ctx.inner("aten.eq.Tensor", position, np.arange(bins, dtype=np.float32))
    for condition in inside:
        equal = ctx.inner("aten.logical_and", equal, condition)
    return _count(ctx, equal, 0)
