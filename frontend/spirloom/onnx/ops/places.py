"""Operators that move elements to places computed on the way."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.ir import Array, DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type
from spirloom.onnx.ops.arrange import pick
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported


@converts("ReverseSequence")
def reverse_sequence(ctx: NodeContext) -> Tensor:
    """Element t of a sequence of length n comes from n - 1 - t; what lies behind it stays."""
    x, lengths = ctx.tensor(0), ctx.tensor(1)
    batch = ctx.axis(ctx.integer("batch_axis", 1), len(x.shape))
    time = ctx.axis(ctx.integer("time_axis", 0), len(x.shape))
    if batch == time or lengths.shape != (x.shape[batch],):
        raise Unsupported(f"axes {time} and {batch} do not fit {x} with lengths {lengths}")
    steps = ctx.build.constant(_along(np.arange(x.shape[time], dtype=np.int32), time, x.shape))
    ends = ctx.build.view(lengths, [n if d == batch else 1 for d, n in enumerate(x.shape)])
    last = ctx.build.emit("aten.sub.Tensor", a=ends, b=ctx.build.scalar(1, DType.I32))
    mirrored = ctx.build.emit("aten.sub.Tensor", a=last, b=steps)
    inside = ctx.build.emit("aten.lt.Tensor", a=steps, b=ends)
    index = ctx.build.emit("aten.where.self", condition=inside, a=mirrored, b=steps)
    index = ctx.build.emit("aten.expand", x=index, size=x.shape)
    return ctx.build.emit("aten.gather", x=x, dim=time, index=index)


@converts("MaxUnpool")
def max_unpool(ctx: NodeContext) -> Tensor:
    """The indices count in the size that the attributes give; output_shape adds zeros behind."""
    x, index = ctx.tensor(0), ctx.tensor(1)
    size = _unpooled(ctx, x.shape)
    ctx.check_size(size, x.dtype.numpy.itemsize)
    zeros = ctx.build.constant(np.zeros(prod(size), x.dtype.numpy))
    flat = [ctx.build.view(t, [prod(x.shape)]) for t in (index, x)]
    y = ctx.build.emit("aten.scatter.src", x=zeros, dim=0, index=flat[0], src=flat[1])
    y = ctx.build.view(y, size)
    wanted = ctx.constant_ints(2)
    if wanted is None:
        return y
    after = [w - n for w, n in zip(wanted, size, strict=False)]
    if len(wanted) != len(size) or min(after) < 0:
        raise Unsupported(f"its output_shape {wanted} does not hold {size}")
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
    """1 at the first greatest element; before opset 13 among all dimensions from `axis` on."""
    x = ctx.tensor(0)
    axis = ctx.axis(ctx.integer("axis", -1 if ctx.opset >= 13 else 1), len(x.shape))
    rows = x
    if ctx.opset < 13:
        rows, axis = ctx.build.view(x, [prod(x.shape[:axis]), prod(x.shape[axis:])]), 1
    place = ctx.build.emit("aten.argmax", x=rows, dim=axis, keepdim=True)
    places = _along(np.arange(rows.shape[axis], dtype=np.int32), axis, rows.shape)
    hit = ctx.build.emit("aten.eq.Tensor", a=place, b=ctx.build.constant(places))
    return ctx.build.view(ctx.build.emit("aten._to_copy", x=hit, dtype=str(x.dtype)), x.shape)


@converts("Compress")
def compress(ctx: NodeContext) -> Tensor:
    x, condition = ctx.tensor(0), ctx.constant(1)
    if condition is None:
        raise Unsupported("its condition is missing")
    if not ctx.has("axis"):
        x = ctx.build.view(x, [prod(x.shape)])
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    chosen = np.flatnonzero(condition)
    if chosen.size and chosen[-1] >= x.shape[axis]:
        raise Unsupported(f"its condition chooses beyond the {x.shape[axis]} elements of its axis")
    return pick(ctx, x, axis, chosen)


@converts("EyeLike")
def eye_like(ctx: NodeContext) -> Array:
    """Ones on a diagonal; of the input only the shape, and maybe the type, matter."""
    x = ctx.value(0)
    if len(x.shape) != 2:
        raise Unsupported(f"its input of shape {list(x.shape)} is not a matrix")
    dtype = x.dtype.numpy if isinstance(x, Tensor) else x.dtype
    if ctx.has("dtype"):
        dtype = numpy_type(ctx.integer("dtype", 0))
    ctx.check_size(x.shape, dtype.itemsize)
    rows, columns = x.shape
    return np.asarray(np.eye(rows, columns, k=ctx.integer("k", 0), dtype=dtype))


def _along(values: Array, axis: int, shape: tuple[int, ...]) -> Array:
    """A vector as it broadcasts along one axis of a shape."""
    return values.reshape([-1 if d == axis else 1 for d in range(len(shape))])
