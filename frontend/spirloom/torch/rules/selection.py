"""Import rules of operators that select elements by a condition: as many as the data determine."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.builder import Value
from spirloom.data_sizes import SIZE_OF_DATA, DataSize, coordinates, true_first
from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.sizes import broadcast_shapes, is_symbolic
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import imports
from spirloom.torch.values import Item

_BOOL, _INDEX = np.dtype(np.bool_), np.dtype(np.int64)


@imports("aten.nonzero")
def nonzero(ctx: CallContext) -> Item:
    """The coordinates of the elements that are not zero, one row each."""
    x = ctx.value("self")
    if isinstance(x, np.ndarray):
        return np.stack(np.nonzero(x), 1)
    rank = len(x.shape)
    if rank == 0:
        raise Unsupported("its input has no dimensions")
    order, count = _true_first(ctx, ctx.cast(x, _BOOL))
    columns = coordinates(ctx.applier.emit, ctx.build.constant, order, x.shape)
    return _sized(ctx, ctx.cast(columns, _INDEX), count)


@imports("aten.masked_select")
def masked_select(ctx: CallContext) -> Item:
    """The elements where a mask is true, after broadcasting."""
    x, mask = ctx.value("self"), ctx.value("mask")
    shape = broadcast_shapes(x.shape, mask.shape)
    whole, chosen = (
        v if v.shape == shape else ctx.inner("aten.expand", v, shape) for v in (x, mask)
    )
    return select_true(ctx, whole, chosen)


def select_true(ctx: CallContext, x: Value, mask: Value) -> Item:
    """x[mask], where the mask covers the first dimensions."""
    if x.shape[: len(mask.shape)] != mask.shape or not mask.shape:
        raise Unsupported(f"a mask of shape {list(mask.shape)} does not cover {list(x.shape)}")
    rows = ctx.view(x, (prod(mask.shape), *x.shape[len(mask.shape) :]))
    if isinstance(mask, np.ndarray):
        chosen = np.flatnonzero(mask)
        return ctx.inner("aten.index_select", rows, dim=0, index=chosen)
    order, count = _true_first(ctx, mask)
    return _sized(ctx, ctx.inner("aten.index_select", rows, dim=0, index=order), count)


def _true_first(ctx: CallContext, mask: Value) -> tuple[Tensor, Tensor]:
    if ctx.applier.data_sizes is None:
        raise Unsupported(SIZE_OF_DATA)
    if is_symbolic(mask.shape) or prod(mask.shape) == 0:
        raise Unsupported(f"{SIZE_OF_DATA}, and those of its mask be fixed and not zero")
    flat = ctx.view(mask, (prod(mask.shape),))
    assert isinstance(flat, Tensor)
    return true_first(ctx.applier.emit, flat)


def _sized(ctx: CallContext, value: Value, count: Tensor) -> Value:
    assert isinstance(value, Tensor) and ctx.applier.data_sizes is not None
    ctx.applier.data_sizes.set(value, DataSize(0, count))
    return value
