"""The sliding window that convolutions and pools share: strides, dilations and padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spirloom.builder import Builder
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import Unsupported


@dataclass(frozen=True, slots=True)
class Window:
    """A window over height and width; `before` and `after` are the padding on each side."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def symmetric(self) -> bool:
        """Whether both sides are padded alike."""
        return self.before == self.after

    def pad_evenly(self, build: Builder, x: Tensor, value: float) -> tuple[Tensor, tuple[int, int]]:
        """x and the padding still to apply: uneven or negative padding is done here."""
        if self.symmetric and min(self.before) >= 0:
            return x, self.before
        return build.pad(x, (0, 0, *self.before), (0, 0, *self.after), value), (0, 0)


def read_window(ctx: NodeContext, kernel: Sequence[int], size: Sequence[int]) -> Window:
    """The window of a node whose planar kernel and input size are given."""
    given = ctx.integers("kernel_shape")
    if given is not None and _planar(ctx, given, 1, "kernel_shape") != tuple(kernel):
        raise Unsupported(f"its kernel_shape {given} contradicts the weight's {list(kernel)}")
    stride = _planar(ctx, ctx.integers("strides"), 1, "strides")
    dilation = _planar(ctx, ctx.integers("dilations"), 1, "dilations")
    if min(*kernel, *stride, *dilation) < 1:
        raise Unsupported("its kernel, strides and dilations must be positive")
    extent = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    before, after = _padding(ctx, extent, stride, size)
    return Window((kernel[0], kernel[1]), stride, dilation, before, after)


def _padding(
    ctx: NodeContext, extent: Sequence[int], stride: Sequence[int], size: Sequence[int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    mode = ctx.text("auto_pad", "NOTSET")
    if mode == "VALID":
        return (0, 0), (0, 0)
    if mode == "NOTSET":
        pads = ctx.integers("pads") or []
        half = len(pads) // 2
        before = _planar(ctx, pads[:half] or None, 0, "pads")
        return before, _planar(ctx, pads[half:] or None, 0, "pads")
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"its auto_pad '{mode}' is unknown")
    totals = [
        max((-(-n // s) - 1) * s + e - n, 0) for n, s, e in zip(size, stride, extent, strict=True)
    ]
    small = (totals[0] // 2, totals[1] // 2)
    large = (totals[0] - small[0], totals[1] - small[1])
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def planar_kernel(ctx: NodeContext) -> tuple[int, int]:
    """The kernel_shape of a pool."""
    kernel = ctx.integers("kernel_shape")
    if kernel is None:
        raise Unsupported("its kernel_shape is missing")
    return _planar(ctx, kernel, 1, "kernel_shape")


def _planar(ctx: NodeContext, values: list[int] | None, fill: int, name: str) -> tuple[int, int]:
    """One or two values as (height, width)."""
    if values is None:
        return fill, fill
    if len(values) == 1:
        return fill, values[0]
    if len(values) != 2:
        raise Unsupported(f"its {name} {values} are not those of one or two dimensions")
    return values[0], values[1]
