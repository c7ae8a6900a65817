"""Gather and scatter operators, TensorScatter, OneHot and TopK."""

from __future__ import annotations

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts
from spirloom.value_bounds import narrowed

_REDUCTIONS = {"none": "none", "add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@converts("GatherElements")
def gather_elements(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    return ctx.build.emit("aten.gather", x=x, dim=axis, index=ctx.tensor(1))


@converts("GatherND")
def gather_nd(ctx: NodeContext) -> Tensor:
    batch = ctx.integer("batch_dims", 0)
    return ctx.build.emit(
        "spirloom.gather_nd", x=ctx.tensor(0), index=ctx.tensor(1), batch_dims=batch
    )


@converts("ScatterElements", "Scatter")
def scatter_elements(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    return _scatter(ctx, x, axis, ctx.tensor(1), ctx.tensor(2))


def _scatter(ctx: NodeContext, x: Tensor, axis: int, index: Tensor, src: Tensor) -> Tensor:
    reduce = _reduction(ctx)
    if reduce == "none":
        return ctx.build.emit("aten.scatter.src", x=x, dim=axis, index=index, src=src)
    return ctx.build.emit(
        "aten.scatter_reduce.two", x=x, dim=axis, index=index, src=src, reduce=reduce
    )


def _reduction(ctx: NodeContext) -> str:
    reduction = ctx.text("reduction", "none")
    if reduction not in _REDUCTIONS:
        raise Unsupported(f"reduction '{reduction}' is unknown")
    return _REDUCTIONS[reduction]


@converts("ScatterND")
def scatter_nd(ctx: NodeContext) -> Tensor:
    x, index, src = (ctx.tensor(i) for i in range(3))
    return ctx.build.emit("spirloom.scatter_nd", x=x, index=index, src=src, reduce=_reduction(ctx))


@converts("TensorScatter")
def tensor_scatter(ctx: NodeContext) -> Tensor:
    """A KV cache with `update` at the write index of each batch, by default 0."""
    cache, update, starts = ctx.ranked(0, 2), ctx.tensor(1), ctx.optional_tensor(2)
    rank, mode = len(cache.shape), ctx.text("mode", "linear")
    axis = ctx.axis(ctx.integer("axis", -2), rank)
    if mode not in ("linear", "circular") or axis == 0 or len(update.shape) != rank:
        raise Unsupported(f"its mode '{mode}', axis {axis} or update {update} does not fit {cache}")
    length = update.shape[axis]
    index = ctx.build.view(ctx.arange(length), [length, *[1] * (rank - 1 - axis)])
    if starts is not None:
        index = ctx.build.add(ctx.build.view(starts, [starts.shape[0], *[1] * (rank - 1)]), index)
    if mode == "circular":
        size = ctx.size(cache.shape[axis])
        index = ctx.build.emit("aten.remainder.Tensor", a=index, b=size)
    index = ctx.build.emit("aten.expand", x=index, size=update.shape)
    return ctx.build.emit("aten.scatter.src", x=cache, dim=axis, index=index, src=update)


@converts("OneHot")
def one_hot(ctx: NodeContext) -> Tensor:
    indices, depth, values = ctx.tensor(0), ctx.constant_ints(1), ctx.constant(2)
    if depth is None or len(depth) != 1 or depth[0] < 1 or values is None or values.size != 2:
        raise Unsupported("its depth must be a positive constant, and its values two constants")
    rank = len(indices.shape) + 1
    axis = ctx.axis(ctx.integer("axis", -1), rank)
    indices = ctx.build.cast(indices, DType.I32)
    indices = ctx.build.view(indices, [*indices.shape[:axis], 1, *indices.shape[axis:]])
    ctx.check_size(depth, np.dtype(np.int32).itemsize)
    classes = np.arange(depth[0], dtype=np.int32).reshape(-1, *[1] * (rank - 1 - axis))
    off, on = (ctx.build.constant(v) for v in narrowed(values.reshape(2, 1)))
    for wrapped in (classes, classes - depth[0]):  # negative indices count from the end
        mask = ctx.build.emit("aten.eq.Tensor", a=indices, b=ctx.build.constant(wrapped))
        off = ctx.build.emit("aten.where.self", condition=mask, a=on, b=off)
    return off


@converts("TopK")
def top_k(ctx: NodeContext) -> list[Tensor]:
    x = ctx.tensor(0)
    count = [ctx.integer("k", -1)] if ctx.opset < 10 else ctx.constant_ints(1)
    axis = ctx.axis(ctx.integer("axis", -1), len(x.shape))
    if count is None or len(count) != 1 or not 0 <= count[0] <= x.shape[axis]:
        raise Unsupported(f"its k {count} is out of range for {x.shape[axis]} elements")
    largest = bool(ctx.integer("largest", 1))
    return list(ctx.build.emit_all("aten.topk", x=x, k=count[0], dim=axis, largest=largest))
