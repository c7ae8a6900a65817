"""Operators that select elements by a condition."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.data_sizes import SIZE_OF_DATA, coordinates, true_first
from spirloom.errors import Unsupported
from spirloom.ir import DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.data_movement import index_select
from spirloom.onnx.registry import converts
from spirloom.sizes import is_symbolic


@converts("Compress")
def compress(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    if not ctx.has("axis"):
        x = ctx.build.view(x, [prod(x.shape)])
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    condition = ctx.value(1)
    if isinstance(condition, Tensor):
        return _compressed(ctx, x, axis, condition)
    selected = np.flatnonzero(condition)
    if selected.size and selected[-1] >= x.shape[axis]:
        raise Unsupported(f"its condition exceeds the {x.shape[axis]} elements of its axis")
    return index_select(ctx, x, axis, selected)


def _compressed(ctx: NodeContext, x: Tensor, axis: int, condition: Tensor) -> Tensor:
    """By a condition that is computed; it may be shorter than the axis."""
    if len(condition.shape) != 1:
        raise Unsupported(f"its condition has rank {len(condition.shape)}; expected 1")
    order, count = _true_first(ctx, condition)
    if condition.shape[0] > x.shape[axis]:
        raise Unsupported(f"its condition exceeds the {x.shape[axis]} elements of its axis")
    chosen = ctx.build.emit("aten.index_select", x=x, dim=axis, index=order)
    ctx.set_data_size(chosen, axis, count)
    return chosen


@converts("NonZero")
def nonzero(ctx: NodeContext) -> Tensor:
    """The coordinates of the elements that are not zero, one column each."""
    x = ctx.ranked(0, 1)
    if x.dtype is not DType.B8:
        zero = ctx.build.scalar(0, x.dtype)
        x = ctx.build.emit("aten.ne.Tensor", a=x, b=zero)
    order, count = _true_first(ctx, x)
    rows = coordinates(ctx.build.emit_all, ctx.build.constant, order, x.shape)
    columns = ctx.build.permute(rows, [1, 0])
    ctx.set_data_size(columns, 1, count)
    return columns


def _true_first(ctx: NodeContext, condition: Tensor) -> tuple[Tensor, Tensor]:
    ctx.refuse_data_sizes(SIZE_OF_DATA)
    if is_symbolic(condition.shape) or prod(condition.shape) == 0:
        raise Unsupported(f"{SIZE_OF_DATA}, and those of its condition be fixed and not zero")
    flat = ctx.build.view(condition, [prod(condition.shape)])
    return true_first(ctx.build.emit_all, flat)
