"""Pools over windows, and global pools."""

from __future__ import annotations

from functools import reduce
from math import inf, prod

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.convolution import (
    Window,
    at_least_planar,
    pool_kernel,
    read_window,
    restore_rank,
)
from spirloom.onnx.registry import converts


@converts("MaxPool")
def max_pool(ctx: NodeContext) -> Tensor | list[Tensor]:
    x = at_least_planar(ctx, ctx.tensor(0))
    dtype = x.dtype
    if dtype not in (DType.F32, DType.F16):  # float32 represents 8-bit integers exactly
        x = ctx.build.cast(x, DType.F32)
    dims = len(x.shape) - 2
    window = read_window(ctx, pool_kernel(ctx, dims), x.shape[2:])
    indices, column_major = ctx.uses_output(1), ctx.integer("storage_order", 0)
    if indices and not _torch_pads(window):
        raise Unsupported(
            "its output Indices requires symmetric padding of at most half the kernel size"
        )
    x, padding, ceil_mode = _padded(ctx, x, window, -inf)
    outputs = ctx.build.emit_all(
        f"aten.max_pool{dims}d{'_with_indices' if indices else ''}",
        x=x,
        kernel_size=window.kernel,
        stride=window.stride,
        padding=padding,
        dilation=window.dilation,
        ceil_mode=ceil_mode,
    )
    y = ctx.build.cast(restore_rank(ctx, outputs[0]), dtype)
    if not indices:
        return y
    index = _column_major(ctx, x, outputs[1]) if column_major else outputs[1]
    return [y, restore_rank(ctx, _flat_indices(ctx, x, index))]


def _column_major(ctx: NodeContext, x: Tensor, index: Tensor) -> Tensor:
    """Converts row-major indices within planes to column-major ones."""
    if len(x.shape) != 4:
        raise Unsupported("column-major storage_order is supported in two dimensions only")
    height, width = (ctx.build.scalar(n, DType.I32) for n in x.shape[2:])
    row = ctx.build.emit("aten.floor_divide", a=index, b=width)
    column = ctx.build.emit("aten.remainder.Tensor", a=index, b=width)
    return ctx.build.add(ctx.build.mul(column, height), row)


def _flat_indices(ctx: NodeContext, x: Tensor, indices: Tensor) -> Tensor:
    """Converts indices within planes to indices into the flattened tensor, as in ONNX."""
    planes, size = prod(x.shape[:2]), prod(x.shape[2:])
    if planes * size >= 2**31:
        raise Unsupported(f"its indices into {x} exceed 32 bits")
    first = (np.arange(planes, dtype=np.int32) * size).reshape(
        *x.shape[:2], *[1] * (len(x.shape) - 2)
    )
    return ctx.build.add(indices, ctx.build.constant(first))


def _torch_pads(window: Window) -> bool:
    """Whether PyTorch's pools support this padding: symmetric, at most half the kernel size."""
    pairs = zip(window.before, window.kernel, strict=True)
    return window.symmetric and all(0 <= 2 * p <= k for p, k in pairs)


def _ceil_mode(ctx: NodeContext) -> bool:
    """Whether output sizes round up. auto_pad SAME_* determines them, whatever the rounding."""
    same = ctx.text("auto_pad", "NOTSET").startswith("SAME")
    return bool(ctx.integer("ceil_mode", 0)) and not same


def _padded(
    ctx: NodeContext, x: Tensor, window: Window, value: float
) -> tuple[Tensor, tuple[int, ...], bool]:
    """x, its remaining padding, and whether the output size rounds up.

    Padding that PyTorch's pools do not support is applied to x, up to the end of the last window.
    """
    ceil_mode = _ceil_mode(ctx)
    if _torch_pads(window):
        return x, window.before, ceil_mode
    after = window.reach(x.shape[2:], ceil_mode)
    padded = ctx.build.pad(x, (0, 0, *window.before), (0, 0, *after), value)
    return padded, (0,) * len(window.before), False


@converts("AveragePool")
def average_pool(ctx: NodeContext) -> Tensor:
    x = at_least_planar(ctx, ctx.tensor(0))
    window = read_window(ctx, pool_kernel(ctx, len(x.shape) - 2), x.shape[2:])
    count_pad, dilated = bool(ctx.integer("count_include_pad", 0)), max(window.dilation) > 1
    if _torch_pads(window) and not dilated:
        y = _average(ctx, x, window, window.before, _ceil_mode(ctx), count_pad)
        return restore_rank(ctx, y)
    after = window.reach(x.shape[2:], _ceil_mode(ctx))
    padded = ctx.build.pad(x, (0, 0, *window.before), (0, 0, *after), 0.0)
    if dilated:
        y = _dilated_average(ctx, padded, window)
    else:
        y = _average(ctx, padded, window, (0,) * len(after), False, True)
    ctx.check_size(y.shape[2:], np.dtype(np.float64).itemsize)
    fraction = _counted_fraction(window, x.shape[2:], y.shape[2:], count_pad)
    if (fraction != 1).any():
        y = ctx.build.emit(
            "aten.div.Tensor", a=y, b=ctx.build.constant(fraction.astype(y.dtype.numpy))
        )
    return restore_rank(ctx, y)


def _average(
    ctx: NodeContext,
    x: Tensor,
    window: Window,
    padding: tuple[int, ...],
    ceil_mode: bool,
    count_pad: bool,
) -> Tensor:
    return ctx.build.emit(
        "aten.avg_pool2d" if len(x.shape) == 4 else "aten.avg_pool3d",
        x=x,
        kernel_size=window.kernel,
        stride=window.stride,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_pad,
    )


def _dilated_average(ctx: NodeContext, x: Tensor, window: Window) -> Tensor:
    """A convolution of each channel with equal weights."""
    channels = x.shape[1]
    shape = (channels, 1, *window.kernel)
    ctx.check_size(shape, x.dtype.numpy.itemsize)
    weight = np.full(shape, 1 / prod(window.kernel), x.dtype.numpy)
    return ctx.build.emit(
        "aten.convolution" if len(x.shape) == 4 else "aten.conv3d",
        x=x,
        weight=ctx.build.constant(weight),
        stride=window.stride,
        padding=(0,) * len(window.kernel),
        dilation=window.dilation,
        groups=channels,
    )


def _counted_fraction(
    window: Window, size: tuple[int, ...], out: tuple[int, ...], count_pad: bool
) -> Array:
    """For each output, the fraction of window elements that the mean counts."""
    fractions = []
    for axis in range(len(size)):
        start = np.arange(out[axis]) * window.stride[axis] - window.before[axis]
        taps = start[:, None] + np.arange(window.kernel[axis]) * window.dilation[axis]
        first = -window.before[axis] if count_pad else 0
        last = size[axis] + (window.after[axis] if count_pad else 0)
        fractions.append(((first <= taps) & (taps < last)).mean(axis=1))
    return np.asarray(reduce(np.multiply.outer, fractions))[None, None]


@converts("GlobalAveragePool")
def global_average_pool(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    if len(x.shape) != 4:
        return ctx.build.reduce("aten.mean.dim", x, range(2, len(x.shape)))
    return ctx.build.emit("aten._adaptive_avg_pool2d", x=x, output_size=(1, 1))


@converts("GlobalMaxPool")
def global_max_pool(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    return ctx.build.reduce("aten.amax", x, range(2, len(x.shape)))


@converts("LpPool")
def lp_pool(ctx: NodeContext) -> Tensor:
    x, p = at_least_planar(ctx, ctx.tensor(0)), ctx.integer("p", 2)
    window = read_window(ctx, pool_kernel(ctx, len(x.shape) - 2), x.shape[2:])
    x, padding, ceil_mode = _padded(ctx, x, window, 0.0)
    y = ctx.build.emit(
        "spirloom.lp_pool",
        x=x,
        norm_type=p,
        kernel_size=window.kernel,
        stride=window.stride,
        padding=padding,
        dilation=window.dilation,
        ceil_mode=ceil_mode,
    )
    return restore_rank(ctx, y)


@converts("GlobalLpPool")
def global_lp_pool(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    if len(x.shape) < 3:
        raise Unsupported(f"its input {x} has no spatial dimensions")
    return ctx.build.emit(
        "aten.linalg_vector_norm",
        x=x,
        ord=ctx.integer("p", 2),
        dim=tuple(range(2, len(x.shape))),
        keepdim=True,
    )
