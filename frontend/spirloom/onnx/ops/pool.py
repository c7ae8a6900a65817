"""Pools over windows, and global ones."""

from __future__ import annotations

from math import inf

import numpy as np

from spirloom.ir import Array, DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.convolution import planar, restore_rank
from spirloom.onnx.table import Unsupported, converts
from spirloom.onnx.window import Window, planar_kernel, read_window


@converts("MaxPool")
def max_pool(ctx: NodeContext) -> Tensor:
    ctx.refuse_extra_outputs()
    if ctx.integer("storage_order", 0):
        raise Unsupported("column-major storage_order is not supported")
    x = planar(ctx, ctx.tensor(0))
    if x.dtype not in (DType.F32, DType.F16):
        raise Unsupported(f"{x.dtype.long_name} is not supported")
    window = read_window(ctx, planar_kernel(ctx), x.shape[2:])
    padding = window.before
    if not _torch_pads(window):
        x, padding = ctx.build.pad(x, (0, 0, *window.before), (0, 0, *window.after), -inf), (0, 0)
    y = ctx.build.emit(
        "aten.max_pool2d",
        x=x,
        kernel_size=window.kernel,
        stride=window.stride,
        padding=padding,
        dilation=window.dilation,
        ceil_mode=bool(ctx.integer("ceil_mode", 0)),
    )
    return restore_rank(ctx, y)


def _torch_pads(window: Window) -> bool:
    """Whether PyTorch's pools take this padding: even, and at most half the kernel."""
    pairs = zip(window.before, window.kernel, strict=True)
    return window.symmetric and all(0 <= 2 * p <= k for p, k in pairs)


@converts("AveragePool")
def average_pool(ctx: NodeContext) -> Tensor:
    x = planar(ctx, ctx.tensor(0))
    window = read_window(ctx, planar_kernel(ctx), x.shape[2:])
    if window.dilation != (1, 1):
        raise Unsupported("dilations are not supported")
    ceil_mode = bool(ctx.integer("ceil_mode", 0))
    count_pad = bool(ctx.integer("count_include_pad", 0))
    if _torch_pads(window):
        y = _average(ctx, x, window, window.before, ceil_mode, count_pad)
        return restore_rank(ctx, y)
    padded = ctx.build.pad(x, (0, 0, *window.before), (0, 0, *window.after), 0.0)
    y = _average(ctx, padded, window, (0, 0), ceil_mode, True)
    if not count_pad:
        share = _covered_share(window, x.shape[2:], y.shape[2:])
        y = ctx.build.emit(
            "aten.div.Tensor", a=y, b=ctx.build.constant(share.astype(y.dtype.numpy))
        )
    return restore_rank(ctx, y)


def _average(
    ctx: NodeContext,
    x: Tensor,
    window: Window,
    padding: tuple[int, int],
    ceil_mode: bool,
    count_pad: bool,
) -> Tensor:
    return ctx.build.emit(
        "aten.avg_pool2d",
        x=x,
        kernel_size=window.kernel,
        stride=window.stride,
        padding=padding,
        ceil_mode=ceil_mode,
        count_include_pad=count_pad,
    )


def _covered_share(window: Window, size: tuple[int, ...], out: tuple[int, ...]) -> Array:
    """For each output, real elements under the window over elements of the padded input."""
    shares = []
    for axis in (0, 1):
        start = np.arange(out[axis]) * window.stride[axis] - window.before[axis]
        stop = start + window.kernel[axis]
        real = np.minimum(stop, size[axis]) - np.maximum(start, 0)
        padded = np.minimum(stop, size[axis] + window.after[axis]) - start
        shares.append(real / padded)
    return np.outer(shares[0], shares[1])[None, None]


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
