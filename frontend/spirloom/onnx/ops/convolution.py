"""Conv and ConvTranspose."""

from __future__ import annotations

import numpy as np

from spirloom.builder import Builder
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import Unsupported, converts
from spirloom.onnx.window import Window, read_window


@converts("Conv")
def conv(ctx: NodeContext) -> Tensor:
    x, weight = planar(ctx, ctx.tensor(0)), planar(ctx, ctx.tensor(1))
    window = read_window(ctx, weight.shape[2:], x.shape[2:])
    x, padding = window.pad_evenly(ctx.build, x, 0.0)
    y = ctx.build.emit(
        "aten.convolution",
        x=x,
        weight=weight,
        bias=ctx.optional_tensor(2),
        stride=window.stride,
        padding=padding,
        dilation=window.dilation,
        groups=ctx.integer("group", 1),
    )
    return restore_rank(ctx, y)


def planar(ctx: NodeContext, x: Tensor) -> Tensor:
    """A tensor of rank 3 or 4 as one of rank 4: [N, C, L] becomes [N, C, 1, L]."""
    if len(x.shape) == 3:
        return ctx.build.view(x, [*x.shape[:2], 1, x.shape[2]])
    if len(x.shape) != 4:
        raise Unsupported(f"a tensor of rank {len(x.shape)} is not supported; 3 and 4 are")
    return x


def restore_rank(ctx: NodeContext, y: Tensor) -> Tensor:
    """The result of a planar computation in the rank of the node's input."""
    if len(ctx.tensor(0).shape) == 4:
        return y
    return ctx.build.view(y, [*y.shape[:2], y.shape[3]])


@converts("ConvTranspose")
def conv_transpose(ctx: NodeContext) -> Tensor:
    """A convolution of the input with zeros put between its elements, by the flipped kernel."""
    if ctx.has("output_shape") or ctx.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise Unsupported("output_shape and auto_pad are not supported; give pads")
    x, weight = planar(ctx, ctx.tensor(0)), planar(ctx, ctx.tensor(1))
    if weight.data is None:
        raise Unsupported("its weight must be a constant")
    groups = ctx.integer("group", 1)
    inputs, outputs, *kernel = weight.shape
    if groups < 1 or inputs % groups:
        raise Unsupported(f"{inputs} channels do not split into {groups} groups")
    flipped = weight.data.reshape(groups, inputs // groups, outputs, *kernel)
    flipped = np.flip(flipped.swapaxes(1, 2), (3, 4)).reshape(-1, inputs // groups, *kernel)
    window = read_window(ctx, kernel, x.shape[2:])
    extra = ctx.integers("output_padding") or [0]
    extra = [0] * (2 - len(extra)) + extra
    x = _spread(ctx.build, x, window)
    full = [d * (k - 1) for d, k in zip(window.dilation, kernel, strict=True)]
    before = [f - p for f, p in zip(full, window.before, strict=True)]
    after = [f - p + e for f, p, e in zip(full, window.after, extra, strict=True)]
    y = ctx.build.emit(
        "aten.convolution",
        x=ctx.build.pad(x, [0, 0, *before], [0, 0, *after], 0.0),
        weight=ctx.build.constant(np.ascontiguousarray(flipped)),
        bias=ctx.optional_tensor(2),
        dilation=window.dilation,
        groups=groups,
    )
    return restore_rank(ctx, y)


def _spread(build: Builder, x: Tensor, window: Window) -> Tensor:
    """x with stride − 1 zeros between neighbours in height and width."""
    n, c, height, width = x.shape
    rows, columns = window.stride
    if columns > 1:
        x = build.view(x, [n * c * height, width, 1])
        x = build.pad(x, [0, 0, 0], [0, 0, columns - 1], 0.0)
        width *= columns
    if rows > 1:
        x = build.view(x, [n * c, height, 1, width])
        x = build.pad(x, [0, 0, 0, 0], [0, 0, rows - 1, 0], 0.0)
        height *= rows
    x = build.view(x, [n, c, height, width])
    x = build.slice(x, 2, 0, height - (rows - 1))
    return build.slice(x, 3, 0, width - (columns - 1))
