"""More evaluators of constant nodes: those that make, cut and join arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import AttributeProto, numpy_helper

from spirloom.ir import Array
from spirloom.onnx.context import NodeContext
from spirloom.onnx.fold import check_size, folds
from spirloom.onnx.table import Unsupported


@folds("Constant")
def _constant(ctx: NodeContext, inputs: list[Array]) -> Array:
    if ctx.has("value"):
        return np.asarray(numpy_helper.to_array(ctx.attribute("value").t))
    for name, dtype in (("float", np.float32), ("int", np.int64)):
        for key in (f"value_{name}", f"value_{name}s"):
            if ctx.has(key):
                attribute = ctx.attribute(key)
                kind = AttributeProto.AttributeType.Name(attribute.type)
                if kind not in ("FLOAT", "FLOATS", "INT", "INTS"):
                    raise Unsupported(f"its attribute '{key}' has the wrong type")
                fields = {"FLOAT": "f", "FLOATS": "floats", "INT": "i", "INTS": "ints"}
                value = getattr(attribute, fields[kind])
                return np.array(value if kind in ("FLOAT", "INT") else list(value), dtype=dtype)
    raise Unsupported("only tensor, float and int constants are supported")


@folds("ConstantOfShape")
def _constant_of_shape(ctx: NodeContext, inputs: list[Array]) -> Array:
    shape = [int(d) for d in inputs[0].flat]
    value = np.zeros(1, np.float32)
    if ctx.has("value"):
        value = np.asarray(numpy_helper.to_array(ctx.attribute("value").t)).reshape(-1)
    check_size(shape, value.itemsize)
    return np.full(shape, value[0], dtype=value.dtype)


@folds("Range")
def _range(ctx: NodeContext, inputs: list[Array]) -> Array:
    start, limit, delta = (i.item() for i in inputs)
    if delta == 0:
        raise Unsupported("its delta is 0")
    count = max(int(np.ceil((limit - start) / delta)), 0)
    check_size([count], inputs[0].itemsize)
    return np.asarray(start + np.arange(count) * delta, dtype=inputs[0].dtype)


@folds("Concat")
def _concat(ctx: NodeContext, inputs: list[Array]) -> Array:
    return np.concatenate(inputs, axis=ctx.axis(ctx.integer("axis", 0), inputs[0].ndim))


@folds("Expand")
def _expand(ctx: NodeContext, inputs: list[Array]) -> Array:
    target = tuple(int(d) for d in inputs[1].flat)
    shape = np.broadcast_shapes(inputs[0].shape, target)
    check_size(shape, inputs[0].itemsize)
    return np.array(np.broadcast_to(inputs[0], shape))


@folds("Tile")
def _tile(ctx: NodeContext, inputs: list[Array]) -> Array:
    repeats = [int(r) for r in inputs[1].flat]
    shape = [d * r for d, r in zip(inputs[0].shape, repeats, strict=True)]
    check_size(shape, inputs[0].itemsize)
    return np.tile(inputs[0], repeats)


@folds("Gather")
def _gather(ctx: NodeContext, inputs: list[Array]) -> Array:
    axis = ctx.axis(ctx.integer("axis", 0), inputs[0].ndim)
    return np.asarray(np.take(inputs[0], inputs[1].astype(np.int64), axis=axis))


@folds("Slice")
def _slice(ctx: NodeContext, inputs: list[Array]) -> Array:
    result = inputs[0]
    for axis, start, end, step in slices(ctx, result.shape):
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


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceSum": np.sum,
}


@folds(*_REDUCTIONS)
def _reduce(ctx: NodeContext, inputs: list[Array]) -> Array:
    axes = ctx.axes_argument() or []
    if not axes and ctx.integer("noop_with_empty_axes", 0):
        return inputs[0]
    dims = tuple(ctx.axes(axes, inputs[0].ndim)) if axes else None
    keep = bool(ctx.integer("keepdims", 1))
    result = _REDUCTIONS[ctx.op_type](inputs[0], axis=dims, keepdims=keep)
    return np.asarray(result, dtype=inputs[0].dtype)


@folds("NonZero")
def _non_zero(ctx: NodeContext, inputs: list[Array]) -> Array:
    return np.array(np.nonzero(inputs[0]), dtype=np.int64)


@folds("ScatterND")
def _scatter_nd(ctx: NodeContext, inputs: list[Array]) -> Array:
    if ctx.text("reduction", "none") != "none":
        raise Unsupported("its reduction is not supported")
    result = inputs[0].copy()
    indices = inputs[1].reshape(-1, inputs[1].shape[-1])
    updates = inputs[2].reshape(len(indices), *result.shape[indices.shape[1] :])
    for index, update in zip(indices, updates, strict=True):
        result[tuple(index)] = update
    return result


@folds("Trilu")
def _trilu(ctx: NodeContext, inputs: list[Array]) -> Array:
    diagonal = int(inputs[1].item()) if len(inputs) > 1 else 0
    return np.triu(inputs[0], diagonal) if ctx.integer("upper", 1) else np.tril(inputs[0], diagonal)


@folds("CumSum")
def _cumsum(ctx: NodeContext, inputs: list[Array]) -> Array:
    axis = ctx.axis(int(inputs[1].item()), inputs[0].ndim)
    reverse = bool(ctx.integer("reverse", 0))
    x = np.flip(inputs[0], axis) if reverse else inputs[0]
    total = np.asarray(np.cumsum(x, axis=axis, dtype=x.dtype))
    if ctx.integer("exclusive", 0):
        total = total - x
    return np.flip(total, axis) if reverse else total


@folds("MatMul")
def _matmul(ctx: NodeContext, inputs: list[Array]) -> Array:
    return np.asarray(np.matmul(inputs[0], inputs[1]))


@folds("Einsum")
def _einsum(ctx: NodeContext, inputs: list[Array]) -> Array:
    equation = "".join(ctx.text("equation", "").split())
    return np.asarray(np.einsum(equation, *inputs))
