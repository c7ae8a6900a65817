"""The sliding window that convolutions and pools share: strides, dilations and padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spirloom.builder import Builder
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.terms import Unsupported


@dataclass(frozen=True, slots=True)
class Window:
    """A window over two or three dims; `before` and `after` are the padding on each side."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def symmetric(self) -> bool:
        """Whether both sides are padded alike."""
        return self.before == self.after

    def pad_evenly(self, build: Builder, x: Tensor, value: float) -> tuple[Tensor, tuple[int, ...]]:
        """x and the padding still to apply: uneven or negative padding is done here."""
        if self.symmetric and min(self.before) >= 0:
            return x, self.before
        padded = build.pad(x, (0, 0, *self.before), (0, 0, *self.after), value)
        return padded, (0,) * len(self.before)


def read_window(ctx: NodeContext, kernel: Sequence[int], size: Sequence[int]) -> Window:
    """The window of a node whose kernel and input size, of two or three dims, are given."""
    given = ctx.integers("kernel_shape")
    if len(kernel) != len(size):
        raise Unsupported(f"its window of {list(kernel)} does not fit an input of {list(size)}")
    if given is not None and spatial(given, 1, len(kernel), "kernel_shape") != tuple(kernel):
        raise Unsupported(f"its kernel_shape {given} contradicts the weight's {list(kernel)}")
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
    """The kernel_shape of a pool over two or three dims."""
    kernel = ctx.integers("kernel_shape")
    if kernel is None:
        raise Unsupported("its kernel_shape is missing")
    return spatial(kernel, 1, dims, "kernel_shape")


def spatial(values: Sequence[int] | None, fill: int, dims: int, name: str) -> tuple[int, ...]:
    """The values for each of `dims` dims; a line is a plane of height 1, whose value is `fill`."""
    if values is None:
        return (fill,) * dims
    if len(values) == 1 and dims == 2:
        return fill, values[0]
    if len(values) != dims:
        raise Unsupported(f"its {name} {list(values)} are not those of {dims} dimensions")
    return tuple(values)
