"""Conv and ConvTranspose, and the sliding windows of convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spirloom.builder import Builder
from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts


@dataclass(frozen=True, slots=True)
class Window:
    """A window over two or three dims. `before` and `after` are the padding on each side."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def symmetric(self) -> bool:
        """Whether both sides have equal padding."""
        return self.before == self.after

    def reach(self, size: Sequence[int], ceil_mode: bool) -> tuple[int, ...]:
        """The padding after each dim with which the last window of ONNX's output ends at the end.

        With `ceil_mode`, the last window may be partial, but it starts before `after`.
        """
        ends = []
        for n, k, s, d, before, after in zip(
            size, self.kernel, self.stride, self.dilation, self.before, self.after, strict=True
        ):
            extent, padded = d * (k - 1) + 1, n + before + after
            last = (padded - extent) // s
            if ceil_mode:
                last = min(-(-(padded - extent) // s), (n + before - 1) // s)
            ends.append(last * s + extent - n - before)
        return tuple(ends)

    def pad_evenly(self, build: Builder, x: Tensor, value: float) -> tuple[Tensor, tuple[int, ...]]:
        """x and its remaining padding. Asymmetric or negative padding is applied to x."""
        if self.symmetric and min(self.before) >= 0:
            return x, self.before
        padded = build.pad(x, (0, 0, *self.before), (0, 0, *self.after), value)
        return padded, (0,) * len(self.before)


def read_window(ctx: NodeContext, kernel: Sequence[int], size: Sequence[int]) -> Window:
    """The window of a node, for kernels and inputs of two or three dims."""
    given = ctx.integers("kernel_shape")
    if len(kernel) != len(size):
        raise Unsupported(f"its window {list(kernel)} does not fit an input of size {list(size)}")
    if given is not None and spatial(given, 1, len(kernel), "kernel_shape") != tuple(kernel):
        raise Unsupported(f"its kernel_shape {given} differs from the weight's {list(kernel)}")
    stride = spatial(ctx.integers("strides"), 1, len(kernel), "strides")
    dilation = spatial(ctx.integers("dilations"), 1, len(kernel), "dilations")
    if min(*kernel, *stride, *dilation) < 1:
        raise Unsupported("its kernel, strides and dilations must be positive")
    extent = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    before, after = _padding(ctx, extent, stride, size)
    return Window(tuple(kernel), stride, dilation, before, after)


def _padding(
    ctx: NodeContext, extent: Sequence[int], stride: Sequence[int], size: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    mode = ctx.text("auto_pad", "NOTSET")
    ctx.without_effect("pads")  # with another mode
    if mode == "VALID":
        return (0,) * len(size), (0,) * len(size)
    if mode == "NOTSET":
        pads = ctx.integers("pads") or []
        half = len(pads) // 2
        before = spatial(pads[:half] or None, 0, len(size), "pads")
        return before, spatial(pads[half:] or None, 0, len(size), "pads")
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"its auto_pad '{mode}' is unknown")
    totals = [
        max((-(-n // s) - 1) * s + e - n, 0) for n, s, e in zip(size, stride, extent, strict=True)
    ]
    small = tuple(total // 2 for total in totals)
    large = tuple(total - total // 2 for total in totals)
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def pool_kernel(ctx: NodeContext, dims: int) -> tuple[int, ...]:
    """The kernel_shape of a pool over two or three dimensions."""
    kernel = ctx.integers("kernel_shape")
    if kernel is None:
        raise Unsupported("its kernel_shape is missing")
    return spatial(kernel, 1, dims, "kernel_shape")


def spatial(values: Sequence[int] | None, fill: int, dims: int, name: str) -> tuple[int, ...]:
    """The values of `dims` dims. 1-D values are extended to 2-D by `fill` for a height of 1."""
    if values is None:
        return (fill,) * dims
    if len(values) == 1 and dims == 2:
        return fill, values[0]
    if len(values) != dims:
        raise Unsupported(f"its {name} {list(values)} do not fit {dims} dimensions")
    return tuple(values)


@converts("Conv")
def conv(ctx: NodeContext) -> Tensor:
    return convolve(ctx, ctx.tensor(0), ctx.tensor(1), ctx.optional_tensor(2))


def convolve(ctx: NodeContext, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The convolution by the node's attributes. x has the rank of input 0."""
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
    """A tensor of rank 4 or 5, from rank 3 to 5: [N, C, L] becomes [N, C, 1, L]."""
    if len(x.shape) == 3:
        return ctx.build.view(x, [*x.shape[:2], 1, x.shape[2]])
    if len(x.shape) not in (4, 5):
        raise Unsupported(f"rank {len(x.shape)} is not supported; expected 3, 4 or 5")
    return x


def restore_rank(ctx: NodeContext, y: Tensor) -> Tensor:
    """The inverse of at_least_planar, for the rank of input 0."""
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
    """The padding and output padding for the output size of the node's attributes, if any."""
    mode, dims = ctx.text("auto_pad", "NOTSET"), len(size)
    shape = ctx.integers("output_shape")
    if shape is not None:
        target = spatial(shape[-dims:], 1, dims, "output_shape")
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
