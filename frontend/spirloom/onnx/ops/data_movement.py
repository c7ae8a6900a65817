"""Operators that move elements: slice, concatenate, repeat, pad, gather, space-to-depth."""

from __future__ import annotations

from math import prod

import numpy as np

from spec_model.symbolic import maximum
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.onnx import moved_shapes
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type
from spirloom.onnx.registry import converts
from spirloom.onnx.size_arrays import Known, LeadingPart, SizeArray
from spirloom.sizes import broadcast_shapes, is_symbolic, upper_shape


@converts("Transpose")
def transpose(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    return ctx.build.permute(x, moved_shapes.permutation(ctx, len(x.shape)))


@converts("Concat")
def concat(ctx: NodeContext) -> Tensor:
    parts = tuple(ctx.tensor(i) for i in range(len(ctx.inputs)))
    axis = ctx.axis(ctx.integer("axis", 0), len(parts[0].shape))
    return ctx.build.cat(parts, axis)


@converts("Split")
def split(ctx: NodeContext) -> list[Tensor]:
    x = ctx.tensor(0)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    parts, start = [], 0
    for length in moved_shapes.split_sizes(ctx, x.shape[axis]):
        parts.append(ctx.build.slice(x, axis, start, start + length))
        start += length
    return parts


@converts("Slice")
def slice_(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    for axis, start, end, step in moved_shapes.slices(ctx, x.shape):
        if step > 0:
            x = ctx.build.slice(x, axis, start, maximum(start, end), step)
        else:
            ctx.check_size([len(range(start, end, step))], np.dtype(np.int64).itemsize)
            x = index_select(ctx, x, axis, np.arange(start, end, step))
    return x


def index_select(ctx: NodeContext, x: Tensor, axis: int, indices: Array) -> Tensor:
    """Selects constant, non-negative indices of one dimension."""
    index = ctx.build.constant(indices.astype(np.int32))
    return ctx.build.emit("aten.index_select", x=x, dim=axis, index=index)


@converts("Gather")
def gather(ctx: NodeContext) -> Tensor:
    x, known = ctx.tensor(0), ctx.known(1)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    size = x.shape[axis]
    if isinstance(known, SizeArray) and known.size == 1:
        return _gather_one(ctx, x, axis, known)
    indices = ctx.value(1)
    if isinstance(indices, Tensor):
        flat = ctx.build.view(indices, [prod(indices.shape)])
        y = ctx.build.emit("aten.index_select", x=x, dim=axis, index=flat)
    else:
        if indices.size and not (-size <= indices.min() and indices.max() < size):
            raise Unsupported(f"its indices exceed the {size} elements of axis {axis}")
        wrapped = np.where(indices < 0, indices + size, indices)
        if indices.ndim == 0:
            return ctx.build.select(x, axis, int(wrapped))
        if indices.size == 1:
            y = ctx.build.slice(x, axis, int(wrapped.item()), int(wrapped.item()) + 1)
        else:
            y = index_select(ctx, x, axis, wrapped.reshape(-1))
    return ctx.build.view(y, [*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])


def _gather_one(ctx: NodeContext, x: Tensor, axis: int, at: SizeArray) -> Tensor:
    """The elements at one index that depends on sizes."""
    (index,) = at.flat()
    size = x.shape[axis]
    if not isinstance(index, int):
        raise Unsupported(f"its index {index} has no formula of the sizes")
    index = index + size if index < 0 else index
    if not 0 <= index < size:
        raise Unsupported(f"its index {index} exceeds the {size} elements of axis {axis}")
    if at.ndim == 0:
        return ctx.build.select(x, axis, index)
    y = ctx.build.slice(x, axis, index, index + 1)
    return ctx.build.view(y, [*x.shape[:axis], *at.shape, *x.shape[axis + 1 :]])


@converts("Expand")
def expand(ctx: NodeContext) -> Tensor:
    x, target = ctx.tensor(0), ctx.constant_ints(1)
    try:
        size = broadcast_shapes(x.shape, tuple(target or ()))
    except Unsupported as error:
        raise Unsupported(f"it cannot expand {list(x.shape)} to {target}") from error
    if size == x.shape:
        return x
    return ctx.build.emit("aten.expand", x=x, size=size)


@converts("Tile")
def tile(ctx: NodeContext) -> Tensor:
    x, repeats = ctx.tensor(0), ctx.constant_ints(1)
    if repeats is None or len(repeats) != len(x.shape):
        raise Unsupported(f"its repeats {repeats} do not fit rank {len(x.shape)}")
    return ctx.build.emit("aten.repeat", x=x, repeats=tuple(repeats))


@converts("Pad")
def pad(ctx: NodeContext) -> Tensor:
    x, mode = ctx.tensor(0), ctx.text("mode", "constant")
    rank = len(x.shape)
    pads = ctx.integers("pads") if ctx.opset < 11 else ctx.constant_ints(1)
    axes = ctx.constant_ints(3) if ctx.opset >= 18 else None
    dims = list(range(rank)) if axes is None else [ctx.axis(a, rank) for a in axes]
    if pads is None or len(pads) != 2 * len(dims):
        raise Unsupported(f"its pads {pads} do not fit {len(dims)} axes")
    before, after = [0] * rank, [0] * rank
    for i, dim in enumerate(dims):
        before[dim], after[dim] = pads[i], pads[i + len(dims)]
    if mode == "constant":
        return ctx.build.pad(x, before, after, _pad_value(ctx))
    modes = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    if mode not in modes:
        raise Unsupported(f"mode '{mode}' is not supported")
    cropped = [min(n, 0) for n in before], [min(n, 0) for n in after]
    x = ctx.build.pad(x, *cropped, 0.0)
    before, after = [max(n, 0) for n in before], [max(n, 0) for n in after]
    if not any(before + after):
        return x
    margin = {"reflect": 1, "edge": -max(before + after, default=0), "wrap": 0}[mode]
    amount = [max(pair) for pair in zip(before, after, strict=True)]
    if all(p <= n - margin for p, n in zip(amount, x.shape, strict=True)) and min(x.shape) > 0:
        pairs = zip(reversed(before), reversed(after), strict=True)
        amounts = tuple(amount for pair in pairs for amount in pair)
        return ctx.build.emit("aten.pad", x=x, pad=amounts, mode=modes[mode])
    # Amounts that exceed the limits of PyTorch's pads: gather by index.
    for dim in (d for d in range(rank) if before[d] or after[d]):
        if not x.shape[dim]:
            raise Unsupported(f"its padded dimension {dim} of {x} is empty")
        ctx.check_size([x.shape[dim] + before[dim] + after[dim]], 8)
        indices = np.pad(np.arange(x.shape[dim]), (before[dim], after[dim]), mode=mode)  # type: ignore[call-overload]
        x = index_select(ctx, x, dim, indices)
    return x


def _pad_value(ctx: NodeContext) -> float:
    if ctx.opset < 11:
        return ctx.number("value", 0.0)
    value = ctx.constant(2)
    return 0.0 if value is None or not value.size else float(value.reshape(-1)[0])


@converts("DepthToSpace")
def depth_to_space(ctx: NodeContext) -> Tensor:
    x, block = ctx.tensor(0), ctx.integer("blocksize", 0)
    if len(x.shape) != 4 or block < 1 or x.shape[1] % (block * block):
        raise Unsupported(f"blocksize {block} does not fit {x}")
    if ctx.text("mode", "DCR") == "CRD":
        return ctx.build.emit("aten.pixel_shuffle", x=x, upscale_factor=block)
    n, c, h, w = x.shape
    parts = ctx.build.view(x, [n, block, block, c // block**2, h, w])
    moved = ctx.build.permute(parts, [0, 3, 4, 1, 5, 2])
    return ctx.build.view(moved, [n, c // block**2, h * block, w * block])


@converts("SpaceToDepth")
def space_to_depth(ctx: NodeContext) -> Tensor:
    x, block = ctx.tensor(0), ctx.integer("blocksize", 0)
    if len(x.shape) != 4 or block < 1 or x.shape[2] % block or x.shape[3] % block:
        raise Unsupported(f"blocksize {block} does not fit {x}")
    n, c, h, w = x.shape
    parts = ctx.build.view(x, [n, c, h // block, block, w // block, block])
    moved = ctx.build.permute(parts, [0, 3, 5, 1, 2, 4])
    return ctx.build.view(moved, [n, c * block**2, h // block, w // block])


@converts("ReverseSequence")
def reverse_sequence(ctx: NodeContext) -> Tensor:
    """y[t] = x[n - 1 - t] for t < n, the length of the sequence; y[t] = x[t] for others."""
    x, lengths = ctx.tensor(0), ctx.tensor(1)
    batch = ctx.axis(ctx.integer("batch_axis", 1), len(x.shape))
    time = ctx.axis(ctx.integer("time_axis", 0), len(x.shape))
    if batch == time or lengths.shape != (x.shape[batch],):
        raise Unsupported(f"axes {time} and {batch} do not fit {x} with lengths {lengths}")
    times = ctx.build.constant(_along(np.arange(x.shape[time], dtype=np.int32), time, x.shape))
    ends = ctx.build.view(lengths, [n if d == batch else 1 for d, n in enumerate(x.shape)])
    last = ctx.build.emit("aten.sub.Tensor", a=ends, b=ctx.build.scalar(1, DType.I32))
    mirrored = ctx.build.emit("aten.sub.Tensor", a=last, b=times)
    inside = ctx.build.emit("aten.lt.Tensor", a=times, b=ends)
    index = ctx.build.emit("aten.where.self", condition=inside, a=mirrored, b=times)
    index = ctx.build.emit("aten.expand", x=index, size=x.shape)
    return ctx.build.emit("aten.gather", x=x, dim=time, index=index)


@converts("MaxUnpool")
def max_unpool(ctx: NodeContext) -> Tensor:
    """Indices refer to the output size of the attributes. output_shape appends zeros."""
    x, index = ctx.tensor(0), ctx.tensor(1)
    size = _unpooled(ctx, x.shape)
    ctx.check_size(size, x.dtype.numpy.itemsize)
    zeros = ctx.build.constant(np.zeros(prod(size), x.dtype.numpy))
    flat = [ctx.build.view(t, [prod(x.shape)]) for t in (index, x)]
    y = ctx.build.emit("aten.scatter.src", x=zeros, dim=0, index=flat[0], src=flat[1])
    y = ctx.build.view(y, size)
    shape = ctx.constant_ints(2)
    if shape is None:
        return y
    after = [w - n for w, n in zip(shape, size, strict=False)]
    if len(shape) != len(size) or min(after) < 0:
        raise Unsupported(f"its output_shape {shape} is smaller than {size}")
    return ctx.build.pad(y, [0] * len(size), after, 0.0)


def _unpooled(ctx: NodeContext, shape: tuple[int, ...]) -> list[int]:
    kernel, dims = ctx.integers("kernel_shape") or [], len(shape) - 2
    strides, pads = ctx.integers("strides") or [1] * dims, ctx.integers("pads") or [0] * 2 * dims
    if not len(kernel) == len(strides) == dims or len(pads) != 2 * dims:
        raise Unsupported(f"its kernel_shape, strides and pads do not fit rank {len(shape)}")
    sizes = [
        (shape[d + 2] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + dims] for d in range(dims)
    ]
    return [*shape[:2], *sizes]


@converts("Hardmax")
def hardmax(ctx: NodeContext) -> Tensor:
    """1 at the first maximum. Before opset 13, over all dimensions from `axis` on."""
    x = ctx.tensor(0)
    axis = ctx.axis(ctx.integer("axis", -1 if ctx.opset >= 13 else 1), len(x.shape))
    rows = x
    if ctx.opset < 13:
        rows, axis = ctx.build.view(x, [prod(x.shape[:axis]), prod(x.shape[axis:])]), 1
    maximum = ctx.build.emit("aten.argmax", x=rows, dim=axis, keepdim=True)
    indices = _along(np.arange(rows.shape[axis], dtype=np.int32), axis, rows.shape)
    mask = ctx.build.emit("aten.eq.Tensor", a=maximum, b=ctx.build.constant(indices))
    return ctx.build.view(ctx.build.cast(mask, x.dtype), x.shape)


@converts("EyeLike")
def eye_like(ctx: NodeContext) -> Known:
    """Ones on a diagonal. Only the shape and type of the input are read."""
    x = ctx.value(0)
    if len(x.shape) != 2:
        raise Unsupported(f"its input of shape {list(x.shape)} is not a matrix")
    dtype = x.dtype.numpy if isinstance(x, Tensor) else x.dtype
    if ctx.has("dtype"):
        dtype = numpy_type(ctx.integer("dtype", 0))
    rows, columns = upper_shape(x.shape)
    ctx.check_size([rows, columns], dtype.itemsize)
    made = np.asarray(np.eye(rows, columns, k=ctx.integer("k", 0), dtype=dtype))
    return LeadingPart(made, x.shape) if is_symbolic(x.shape) else made


def _along(values: Array, axis: int, shape: tuple[int, ...]) -> Array:
    """Reshapes a vector so that it broadcasts along one axis of a shape."""
    return values.reshape([-1 if d == axis else 1 for d in range(len(shape))])
