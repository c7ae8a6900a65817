"""Operators that pick and place elements by index tensors, and sorting."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from spirloom.ir import DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import narrowed
from spirloom.onnx.table import Unsupported, converts

_NAMES = ("index0", "index1", "index2")
_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@converts("GatherElements")
def gather_elements(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    return ctx.build.emit("aten.gather", x=x, dim=axis, index=ctx.tensor(1))


@converts("GatherND")
def gather_nd(ctx: NodeContext) -> Tensor:
    x, indices, batch = ctx.tensor(0), ctx.tensor(1), ctx.integer("batch_dims", 0)
    count = indices.shape[-1] if indices.shape else 0
    if count < 1 or not 0 <= batch < len(indices.shape) or batch + count > len(x.shape):
        raise Unsupported(f"indices {indices} with batch_dims {batch} do not fit {x}")
    if x.shape[:batch] != indices.shape[:batch]:
        raise Unsupported(f"the first {batch} dimensions of {x} and {indices} differ")
    if not batch and count <= len(_NAMES):
        picks = dict(zip(_NAMES, _coordinates(ctx, indices), strict=False))
        return ctx.build.emit("aten.index.Tensor", x=x, **picks)
    sizes, rest = x.shape[batch : batch + count], x.shape[batch + count :]
    row = _row(ctx, indices, sizes)
    if batch:
        first = np.arange(prod(x.shape[:batch]), dtype=np.int32) * prod(sizes)
        behind = [1] * (len(indices.shape) - 1 - batch)
        row = ctx.build.add(row, ctx.build.constant(first.reshape(*x.shape[:batch], *behind)))
    rows = ctx.build.view(x, [prod(x.shape[: batch + count]), prod(rest)])
    flat = ctx.build.view(row, [prod(row.shape)])
    y = ctx.build.emit("aten.index_select", x=rows, dim=0, index=flat)
    return ctx.build.view(y, [*indices.shape[:-1], *rest])


def _coordinates(ctx: NodeContext, indices: Tensor) -> list[Tensor]:
    """The slices of an index tensor along its last dim."""
    count = indices.shape[-1]
    if indices.data is not None:
        return [
            ctx.build.constant(np.ascontiguousarray(indices.data[..., k])) for k in range(count)
        ]
    return [ctx.build.emit("aten.select.int", x=indices, dim=-1, index=k) for k in range(count)]


@converts("ScatterElements", "Scatter")
def scatter_elements(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    return _scatter(ctx, x, axis, ctx.tensor(1), ctx.tensor(2))


def _scatter(ctx: NodeContext, x: Tensor, axis: int, index: Tensor, src: Tensor) -> Tensor:
    reduction = ctx.text("reduction", "none")
    if reduction == "none":
        return ctx.build.emit("aten.scatter.src", x=x, dim=axis, index=index, src=src)
    if reduction not in _REDUCTIONS:
        raise Unsupported(f"reduction '{reduction}' is unknown")
    reduce = _REDUCTIONS[reduction]
    return ctx.build.emit(
        "aten.scatter_reduce.two", x=x, dim=axis, index=index, src=src, reduce=reduce
    )


@converts("ScatterND")
def scatter_nd(ctx: NodeContext) -> Tensor:
    """The indexed dims as one: each update then is a row."""
    x, indices, updates = (ctx.tensor(i) for i in range(3))
    count = indices.shape[-1] if indices.shape else 0
    if not 1 <= count <= len(x.shape):
        raise Unsupported(f"indices of {count} dimensions do not fit {x}")
    sizes, width = x.shape[:count], prod(x.shape[count:])
    points = prod(indices.shape[:-1])
    row = _row(ctx, indices, sizes)
    index = ctx.build.view(row, [points, 1])
    index = ctx.build.emit("aten.expand", x=index, size=(points, width))
    rows = ctx.build.view(x, [prod(sizes), width])
    y = _scatter(ctx, rows, 0, index, ctx.build.view(updates, [points, width]))
    return ctx.build.view(y, x.shape)


def _row(ctx: NodeContext, indices: Tensor, sizes: Sequence[int]) -> Tensor:
    """The places that coordinates, the last dim of `indices`, have among prod(sizes) elements."""
    parts = zip(sizes, _coordinates(ctx, indices), strict=True)
    places = [(size, _counted_up(ctx, part, size)) for size, part in parts]
    row = places[0][1]
    for size, place in places[1:]:
        row = ctx.build.add(ctx.build.mul(row, size), place)
    return row


def _counted_up(ctx: NodeContext, index: Tensor, size: int) -> Tensor:
    """Indices with negative ones, which count from the end, brought up by the size."""
    if index.data is not None:
        return ctx.build.constant(np.where(index.data < 0, index.data + size, index.data))
    zero, offset = (ctx.build.scalar(v, DType.I32) for v in (0, size))
    negative = ctx.build.emit("aten.lt.Tensor", a=index, b=zero)
    wrapped = ctx.build.add(index, offset)
    return ctx.build.emit("aten.where.self", condition=negative, a=wrapped, b=index)


@converts("OneHot")
def one_hot(ctx: NodeContext) -> Tensor:
    indices, depth, values = ctx.tensor(0), ctx.constant_ints(1), ctx.constant(2)
    if depth is None or len(depth) != 1 or depth[0] < 1 or values is None or values.size != 2:
        raise Unsupported("its depth and values do not fit each other")
    rank = len(indices.shape) + 1
    axis = ctx.axis(ctx.integer("axis", -1), rank)
    if indices.dtype is not DType.I32:
        indices = ctx.build.emit("aten._to_copy", x=indices, dtype="i32")
    indices = ctx.build.view(indices, [*indices.shape[:axis], 1, *indices.shape[axis:]])
    classes = np.arange(depth[0], dtype=np.int32).reshape(-1, *[1] * (rank - 1 - axis))
    off, on = (ctx.build.constant(v) for v in narrowed(values.reshape(2, 1)))
    for counted in (classes, classes - depth[0]):  # negative ones count from the end
        hit = ctx.build.emit("aten.eq.Tensor", a=indices, b=ctx.build.constant(counted))
        off = ctx.build.emit("aten.where.self", condition=hit, a=on, b=off)
    return off


@converts("TopK")
def top_k(ctx: NodeContext) -> list[Tensor]:
    x = ctx.tensor(0)
    count = [ctx.integer("k", -1)] if ctx.opset < 10 else ctx.constant_ints(1)
    axis = ctx.axis(ctx.integer("axis", -1), len(x.shape))
    if count is None or len(count) != 1 or not 0 <= count[0] <= x.shape[axis]:
        raise Unsupported(f"its k {count} does not fit the {x.shape[axis]} elements of its axis")
    largest = bool(ctx.integer("largest", 1))
    return list(ctx.build.emit_all("aten.topk", x=x, k=count[0], dim=axis, largest=largest))
