"""Conv and ConvTranspose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported
from spirloom.onnx.window import Window, read_window, spatial


@converts("Conv")
def conv(ctx: NodeContext) -> Tensor:
    return convolve(ctx, ctx.tensor(0), ctx.tensor(1), ctx.optional_tensor(2))


def convolve(ctx: NodeContext, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The convolution that the node's attributes say, of a tensor of the rank of its input 0."""
    x, weight = at_least_planar(ctx, x), at_least_planar(ctx, weight)
    window = read_window(ctx, weight.shape[2:], x.shape[2:])
    x, padding = window.pad_evenly(ctx.build, x, 0.0)
    y = ctx.build.emit(
        "aten.convolution" if len(x.shape) == 4 else "aten.conv3d",
        x=x,
        weight=weight,
        bias=bias,
        stride=window.stride,
        padding=padding,
        dilation=window.dilation,
        groups=ctx.integer("group", 1),
    )
    return restore_rank(ctx, y)


def at_least_planar(ctx: NodeContext, x: Tensor) -> Tensor:
    """A tensor of rank 3 to 5 as one of rank 4 or 5: [N, C, L] becomes [N, C, 1, L]."""
    if len(x.shape) == 3:
        return ctx.build.view(x, [*x.shape[:2], 1, x.shape[2]])
    if len(x.shape) not in (4, 5):
        raise Unsupported(f"a tensor of rank {len(x.shape)} is not supported; 3, 4 and 5 are")
    return x


def restore_rank(ctx: NodeContext, y: Tensor) -> Tensor:
    """The result of a computation on planes in the rank of the node's input."""
    if len(ctx.tensor(0).shape) != 3:
        return y
    return ctx.build.view(y, [*y.shape[:2], y.shape[3]])


@converts("ConvTranspose")
def conv_transpose(ctx: NodeContext) -> Tensor:
    x, weight = at_least_planar(ctx, ctx.tensor(0)), at_least_planar(ctx, ctx.tensor(1))
    dims = len(weight.shape) - 2
    window = read_window(ctx, weight.shape[2:], x.shape[2:])
    extra = spatial(ctx.integers("output_padding"), 0, dims, "output_padding")
    window, extra = _resized(ctx, window, x.shape[2:], extra)
    if min(*window.before, *window.after) < 0:
        raise Unsupported("negative pads are not supported")
    padding = tuple(min(pair) for pair in zip(window.before, window.after, strict=True))
    y = ctx.build.emit(
        "aten.conv_transpose2d.input" if dims == 2 else "aten.conv_transpose3d.input",
        x=x,
        weight=weight,
        bias=ctx.optional_tensor(2),
        stride=window.stride,
        padding=padding,
        output_padding=extra,
        groups=ctx.integer("group", 1),
        dilation=window.dilation,
    )
    for d in range(dims):
        first, last = window.before[d] - padding[d], window.after[d] - padding[d]
        y = ctx.build.slice(y, 2 + d, first, max(y.shape[2 + d] - last, first))
    return restore_rank(ctx, y)


def _resized(
    ctx: NodeContext, window: Window, size: Sequence[int], extra: tuple[int, ...]
) -> tuple[Window, tuple[int, ...]]:
    """The padding and output padding that give the wanted size, where the node names one."""
    mode, dims = ctx.text("auto_pad", "NOTSET"), len(size)
    wanted = ctx.integers("output_shape")
    if wanted is not None:
        target = spatial(wanted[-dims:], 1, dims, "output_shape")
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        target = tuple(n * s for n, s in zip(size, window.stride, strict=True))
    else:
        return window, extra
    totals = [
        s * (n - 1) + e + d * (k - 1) + 1 - t
        for s, n, e, d, k, t in zip(
            window.stride, size, extra, window.dilation, window.kernel, target, strict=True
        )
    ]
    extra = tuple(e + max(-total, 0) for e, total in zip(extra, totals, strict=True))
    small = tuple(max(total, 0) // 2 for total in totals)
    large = tuple(max(total, 0) - max(total, 0) // 2 for total in totals)
    before, after = (small, large) if mode == "SAME_UPPER" else (large, small)
    return replace(window, before=before, after=after), extra
