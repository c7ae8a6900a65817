"""How resizing relates the elements of its output to those of its input, one axis at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spirloom.ir import Array
from spirloom.onnx.context import NodeContext
from spirloom.onnx.terms import Unsupported

_LIMIT = 1 << 24  # the largest output dimension


@dataclass(frozen=True, slots=True)
class Axis:
    """One resized dimension; `region` is the part of it that is taken, of the whole (0, 1)."""

    dim: int
    size: int
    out: int
    scale: float
    region: tuple[float, float]

    @property
    def unchanged(self) -> bool:
        return self.out == self.size and self.scale == 1 and self.region == (0, 1)


def read_axes(ctx: NodeContext, shape: tuple[int, ...]) -> list[Axis]:
    if ctx.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise Unsupported("keep_aspect_ratio_policy is not supported")
    dims = ctx.integers("axes") or list(range(len(shape)))
    dims = [ctx.axis(d, len(shape)) for d in dims]
    index = 1 if ctx.opset < 11 else 2
    scales, sizes = ctx.constant(index), ctx.constant_ints(3)
    if ctx.opset < 9:
        scales = np.array(ctx.floats("scales"))
    if sizes:
        pairs = [(n, n / shape[d]) for n, d in zip(sizes, dims, strict=False) if shape[d]]
    elif scales is not None:
        factors = [float(s) for s in scales.reshape(-1)]
        pairs = [(int(shape[d] * s), s) for s, d in zip(factors, dims, strict=False)]
    else:
        raise Unsupported("it has neither scales nor sizes")
    if len(pairs) != len(dims) or any(not 1 <= n < _LIMIT or not s > 0 for n, s in pairs):
        raise Unsupported(f"its scales or sizes do not fit the shape {list(shape)}")
    regions = _regions(ctx, len(dims))
    return [
        Axis(d, shape[d], n, s, region)
        for d, (n, s), region in zip(dims, pairs, regions, strict=True)
    ]


def _regions(ctx: NodeContext, count: int) -> list[tuple[float, float]]:
    """The part of each axis that is resized: where it starts and ends, as a share of the whole."""
    if coordinates_of(ctx) != "tf_crop_and_resize":
        return [(0.0, 1.0)] * count
    given = ctx.constant(1)
    if given is None or given.size != 2 * count:
        raise Unsupported(f"its roi does not fit {count} axes")
    starts, ends = given.astype(np.float64).reshape(2, count)
    return [(float(start), float(end)) for start, end in zip(starts, ends, strict=True)]


def coordinates_of(ctx: NodeContext) -> str:
    """Which rule relates places in the output to places in the input."""
    default = "asymmetric" if ctx.opset < 11 else "half_pixel"
    return ctx.text("coordinate_transformation_mode", default)


def positions(ctx: NodeContext, axis: Axis) -> Array:
    """Where each output element lies in the input, in elements."""
    ctx.check_size([axis.out], np.dtype(np.float64).itemsize)
    at = np.arange(axis.out, dtype=np.float64)
    mode = coordinates_of(ctx)
    centred = (at + 0.5) / axis.scale - 0.5
    if mode == "asymmetric":
        return at / axis.scale
    if mode == "align_corners":
        # ONNX takes the length before it is rounded down, unlike PyTorch.
        length = axis.scale * axis.size
        return at * ((axis.size - 1) / (length - 1) if axis.out > 1 else 0)
    if mode == "pytorch_half_pixel" and axis.out == 1:
        return at * 0
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return centred
    if mode == "tf_half_pixel_for_nn":
        return (at + 0.5) / axis.scale
    if mode == "tf_crop_and_resize":
        start, end = axis.region
        share = at / (axis.out - 1) if axis.out > 1 else np.array([0.5])
        return (start + share * (end - start)) * (axis.size - 1)
    if mode == "half_pixel_symmetric":
        return centred + axis.size / 2 * (1 - axis.out / (axis.scale * axis.size))
    raise Unsupported(f"coordinate_transformation_mode '{mode}' is not supported")


def outside(ctx: NodeContext, axis: Axis) -> Array:
    """Which output elements lie beyond the input, where that matters: of a region."""
    if coordinates_of(ctx) != "tf_crop_and_resize":
        return np.zeros(axis.out, dtype=np.bool_)
    at = positions(ctx, axis)
    return np.asarray((at < 0) | (at > axis.size - 1))
