"""Constant folding of shapes, views, constant creation, slices, concatenation and gathers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import AttributeProto

from spec_model.symbolic import maximum, minimum, settle, size_of
from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.onnx.constant_folding.registry import folds
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import array_of
from spirloom.sizes import is_symbolic


@folds("Constant")
def _constant(ctx: NodeContext, inputs: list[Array]) -> Array:
    if ctx.has("value"):
        return array_of(ctx.attribute("value").t, "its value")
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
        value = array_of(ctx.attribute("value").t, "its value").reshape(-1)
    ctx.check_size(shape, value.itemsize)
    return np.full(shape, value[0], dtype=value.dtype)


@folds("Range")
def _range(ctx: NodeContext, inputs: list[Array]) -> Array:
    start, limit, delta = (i.item() for i in inputs)
    if delta == 0:
        raise Unsupported("its delta is 0")
    count = max(int(np.ceil((limit - start) / delta)), 0)
    ctx.check_size([count], inputs[0].itemsize)
    return np.asarray(start + np.arange(count) * delta, dtype=inputs[0].dtype)


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
    x, indices = inputs
    shape = [*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]]
    ctx.check_size(shape, x.itemsize)
    return np.asarray(np.take(x, indices.astype(np.int64), axis=axis), x.dtype)


@folds("Slice")
def _slice(ctx: NodeContext, inputs: list[Array]) -> Array:
    result = inputs[0]
    for axis, start, end, step in slices(ctx, result.shape):
        ctx.check_size(result.shape, result.itemsize)
        result = np.take(result, range(start, end, step), axis=axis)
    return result


def slices(ctx: NodeContext, shape: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """The (axis, start, end, step) of each slice, with the semantics of range()."""
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
        result.append((axis, *_indices(start, end, step, shape[axis])))
    return result


def _indices(start: int, end: int, step: int, size: int) -> tuple[int, int, int]:
    """The indices of a slice, as slice.indices() returns them, which may be symbolic."""
    if not is_symbolic((start, end, size)):
        return slice(start, end, step).indices(size)
    if step < 0:
        raise Unsupported(f"its step {step} is negative, and its axis has the size {size}")
    return _clamped(start, size), _clamped(end, size), step


def _clamped(index: int, size: int) -> int:
    """An index that counts from the end if it is negative, as an index from the begin."""
    return minimum(maximum(index + size if index < 0 else index, 0), size)


@folds("Split")
def _split(ctx: NodeContext, inputs: list[Array]) -> list[Array]:
    axis = ctx.axis(ctx.integer("axis", 0), inputs[0].ndim)
    sizes = split_sizes(ctx, inputs[0].shape[axis])
    return np.split(inputs[0], np.cumsum(sizes)[:-1].tolist(), axis=axis)


def split_sizes(ctx: NodeContext, length: int) -> list[int]:
    """The sizes of the outputs of a Split."""
    sizes = ctx.integers("split") if ctx.has("split") else ctx.constant_ints(1)
    count = len(ctx.node.output)
    if ctx.integer("num_outputs", count) != count:
        raise Unsupported(f"its num_outputs is not {count}, the number of its outputs")
    if sizes is None:
        size = -(-length // count)
        sizes = [max(min(size, length - i * size), 0) for i in range(count)]
    if sum(sizes) != length or any(s < 0 for s in sizes) or len(sizes) != len(ctx.node.output):
        raise Unsupported(f"its split sizes {sizes} do not add up to {length}")
    return sizes


@folds("NonZero")
def _non_zero(ctx: NodeContext, inputs: list[Array]) -> Array:
    ctx.check_size([inputs[0].ndim, int(np.count_nonzero(inputs[0]))], np.dtype(np.int64).itemsize)
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


@folds("Shape")
def _shape(ctx: NodeContext, inputs: list[Array]) -> Array:
    return np.array(shape_slice(ctx, inputs[0].shape), np.int64)


@folds("Size")
def _size(ctx: NodeContext, inputs: list[Array]) -> Array:
    return np.array(inputs[0].size, dtype=np.int64)


def shape_slice(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The output of Shape for a tensor of this shape (opset 15 has start and end)."""
    end = ctx.integer("end", len(shape))
    return list(shape)[ctx.integer("start", 0) : end]


@folds("Reshape")
def _reshape(ctx: NodeContext, inputs: list[Array]) -> Array:
    return inputs[0].reshape(reshaped(ctx, inputs[0].shape, [int(d) for d in inputs[1].flat]))


def reshaped(ctx: NodeContext, shape: Sequence[int], target: list[int]) -> list[int]:
    """The output shape of Reshape for a target with 0 and -1."""
    result = list(target)
    if not ctx.integer("allowzero", 0):
        for i, d in enumerate(target):
            if d == 0 and i >= len(shape):
                raise Unsupported(f"its shape {target} copies dimension {i} of {list(shape)}")
        result = [shape[i] if d == 0 else d for i, d in enumerate(target)]
    known = prod(d for d in result if d != -1)
    if result.count(-1) == 1 and known and prod(shape) % known == 0:
        result[result.index(-1)] = prod(shape) // known
    if any(d < 0 for d in result) or prod(result) != prod(shape):
        raise Unsupported(f"it cannot reshape {list(shape)} to {target}")
    return result


def flattened(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The output shape of Flatten."""
    axis = ctx.integer("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise Unsupported(f"its axis {axis} is out of range for rank {len(shape)}")
    axis = axis + len(shape) if axis < 0 else axis
    return [prod(shape[:axis]), prod(shape[axis:])]


def squeezed(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The output shape of Squeeze."""
    axes = ctx.axes_argument()
    if axes is None:
        return [d for d in shape if settle(size_of(d) - 1, "!=")]
    removed = ctx.axes(axes, len(shape))
    for axis in removed:
        if shape[axis] != 1:
            raise Unsupported(f"its axis {axis} of {list(shape)} has size {shape[axis]}, not 1")
    return [d for i, d in enumerate(shape) if i not in removed]


def unsqueezed(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The output shape of Unsqueeze."""
    axes = ctx.axes_argument()
    if axes is None:
        raise Unsupported("its axes are missing")
    result = list(shape)
    for axis in ctx.axes(axes, len(shape) + len(axes)):
        result.insert(axis, 1)
    return result


VIEWS = {"Flatten": flattened, "Squeeze": squeezed, "Unsqueeze": unsqueezed}


@folds(*VIEWS)
def _view(ctx: NodeContext, inputs: list[Array]) -> Array:
    return inputs[0].reshape(VIEWS[ctx.op_type](ctx, inputs[0].shape))


@folds("Transpose")
def _transpose(ctx: NodeContext, inputs: list[Array]) -> Array:
    return np.transpose(inputs[0], permutation(ctx, inputs[0].ndim))


def permutation(ctx: NodeContext, rank: int) -> list[int]:
    """The permutation of a Transpose."""
    dims = ctx.integers("perm") or list(reversed(range(rank)))
    if sorted(dims) != list(range(rank)):
        raise Unsupported(f"its perm {dims} does not fit rank {rank}")
    return dims
