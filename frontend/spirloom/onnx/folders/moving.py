"""Evaluators that cut, join, repeat and pick."""

from __future__ import annotations

import numpy as np

from spirloom.ir import Array
from spirloom.onnx.context import NodeContext
from spirloom.onnx.fold import folds
from spirloom.onnx.terms import Unsupported


@folds("Concat")
def _concat(ctx: NodeContext, inputs: list[Array]) -> Array:
    ctx.check_size([sum(i.size for i in inputs)], inputs[0].itemsize)
    return np.concatenate(inputs, axis=ctx.axis(ctx.integer("axis", 0), inputs[0].ndim))


@folds("Expand")
def _expand(ctx: NodeContext, inputs: list[Array]) -> Array:
    target = tuple(int(d) for d in inputs[1].flat)
    shape = np.broadcast_shapes(inputs[0].shape, target)
    ctx.check_size(shape, inputs[0].itemsize)
    return np.array(np.broadcast_to(inputs[0], shape))


@folds("Tile")
def _tile(ctx: NodeContext, inputs: list[Array]) -> Array:
    repeats = [int(r) for r in inputs[1].flat]
    shape = [d * r for d, r in zip(inputs[0].shape, repeats, strict=True)]
    ctx.check_size(shape, inputs[0].itemsize)
    return np.tile(inputs[0], repeats)


@folds("Gather")
def _gather(ctx: NodeContext, inputs: list[Array]) -> Array:
    axis = ctx.axis(ctx.integer("axis", 0), inputs[0].ndim)
    x, places = inputs
    shape = [*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]]
    ctx.check_size(shape, x.itemsize)
    return np.asarray(np.take(x, places.astype(np.int64), axis=axis))


@folds("Slice")
def _slice(ctx: NodeContext, inputs: list[Array]) -> Array:
    result = inputs[0]
    for axis, start, end, step in slices(ctx, result.shape):
        ctx.check_size(result.shape, result.itemsize)
        result = np.take(result, range(start, end, step), axis=axis)
    return result


def slices(ctx: NodeContext, shape: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """The (axis, start, end, step) a Slice asks for, as for range()."""
    if ctx.opset < 10:
        starts, ends = ctx.integers("starts"), ctx.integers("ends")
        axes, steps = ctx.integers("axes"), None
    else:
        starts, ends, axes, steps = (ctx.constant_ints(i) for i in (1, 2, 3, 4))
    if starts is None or ends is None:
        raise Unsupported("its starts or ends are missing")
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Unsupported("its starts, ends, axes and steps differ in length")
    result = []
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step == 0:
            raise Unsupported("its step is 0")
        axis = ctx.axis(axis, len(shape))
        result.append((axis, *slice(start, end, step).indices(shape[axis])))
    return result


@folds("Split")
def _split(ctx: NodeContext, inputs: list[Array]) -> list[Array]:
    axis = ctx.axis(ctx.integer("axis", 0), inputs[0].ndim)
    sizes = split_sizes(ctx, inputs[0].shape[axis])
    return np.split(inputs[0], np.cumsum(sizes)[:-1].tolist(), axis=axis)


def split_sizes(ctx: NodeContext, length: int) -> list[int]:
    """The lengths a Split cuts `length` into."""
    sizes = ctx.integers("split") if ctx.has("split") else ctx.constant_ints(1)
    if sizes is None:
        count = len(ctx.node.output)
        size = -(-length // count)
        sizes = [max(min(size, length - i * size), 0) for i in range(count)]
    if sum(sizes) != length or any(s < 0 for s in sizes) or len(sizes) != len(ctx.node.output):
        raise Unsupported(f"it cannot split {length} into {sizes}")
    return sizes


@folds("NonZero")
def _non_zero(ctx: NodeContext, inputs: list[Array]) -> Array:
    ctx.check_size([inputs[0].ndim, np.count_nonzero(inputs[0])], np.dtype(np.int64).itemsize)
    return np.array(np.nonzero(inputs[0]), dtype=np.int64)


@folds("ScatterND")
def _scatter_nd(ctx: NodeContext, inputs: list[Array]) -> Array:
    if ctx.text("reduction", "none") != "none":
        raise Unsupported("its reduction is not supported")
    ctx.check_size(inputs[0].shape, inputs[0].itemsize)
    result = inputs[0].copy()
    indices = inputs[1].reshape(-1, inputs[1].shape[-1])
    updates = inputs[2].reshape(len(indices), *result.shape[indices.shape[1] :])
    for index, update in zip(indices, updates, strict=True):
        result[tuple(index)] = update
    return result


@folds("Trilu")
def _trilu(ctx: NodeContext, inputs: list[Array]) -> Array:
    ctx.check_size(inputs[0].shape, inputs[0].itemsize)
    diagonal = int(inputs[1].item()) if len(inputs) > 1 else 0
    return np.triu(inputs[0], diagonal) if ctx.integer("upper", 1) else np.tril(inputs[0], diagonal)
