"""The resized dimensions of a Resize or Upsample, and the input coordinates of their elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import floor

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.onnx.context import NodeContext

_MAX_SIZE = 1 << 24  # of an output dimension
# Of the ratios of sizes, the one that scales all axes; None: each has its own.
_POLICIES: dict[str, Callable[[Iterable[float]], float] | None] = {
    "stretch": None,
    "not_larger": min,
    "not_smaller": max,
}


@dataclass(frozen=True, slots=True)
class Axis:
    """One resized dimension. `region` is the resized part, as fractions of the dimension.
    `stated`: the scale is the model's, not derived from a size.
    """

    dim: int
    size: int
    out: int
    scale: float
    region: tuple[float, float]
    stated: bool

    @property
    def unchanged(self) -> bool:
        return self.out == self.size and self.scale == 1 and self.region == (0, 1)


def read_axes(ctx: NodeContext, shape: tuple[int, ...]) -> list[Axis]:
    policy = ctx.text("keep_aspect_ratio_policy", "stretch")
    if policy not in _POLICIES:
        raise Unsupported(f"keep_aspect_ratio_policy '{policy}' does not exist")
    dims = ctx.integers("axes") or list(range(len(shape)))
    dims = [ctx.axis(d, len(shape)) for d in dims]
    index = 1 if ctx.opset < 11 else 2
    scales, sizes = ctx.constant(index), ctx.constant_ints(3)
    if ctx.opset < 9:
        scales = np.array(ctx.floats("scales"))
    if sizes:
        pairs = [(n, n / shape[d]) for n, d in zip(sizes, dims, strict=False) if shape[d]]
        choose = _POLICIES[policy]
        if choose is not None and pairs:
            scale = choose(scale for _, scale in pairs)
            pairs = [(floor(scale * shape[d] + 0.5), scale) for d in dims if shape[d]]
    elif scales is not None:
        # A size is computed in float32, as in ONNX's shape inference: 10 · 0.7 is 7.
        factors = np.asarray(scales, np.float32).reshape(-1)
        pairs = [
            (int(np.float32(shape[d]) * s), float(s)) for s, d in zip(factors, dims, strict=False)
        ]
    else:
        raise Unsupported("it has neither scales nor sizes")
    if len(pairs) != len(dims) or any(not 1 <= n < _MAX_SIZE or not s > 0 for n, s in pairs):
        raise Unsupported(f"its scales or sizes do not fit the shape {list(shape)}")
    regions = _regions(ctx, len(dims))
    return [
        Axis(d, shape[d], n, s, region, stated=not sizes)
        for d, (n, s), region in zip(dims, pairs, regions, strict=True)
    ]


def _regions(ctx: NodeContext, count: int) -> list[tuple[float, float]]:
    """The resized part of each axis: start and end as fractions."""
    if coordinates_of(ctx) != "tf_crop_and_resize":
        return [(0.0, 1.0)] * count
    given = ctx.constant(1)
    if given is None or given.size != 2 * count:
        raise Unsupported(f"its roi does not fit {count} axes")
    starts, ends = given.astype(np.float64).reshape(2, count)
    return [(float(start), float(end)) for start, end in zip(starts, ends, strict=True)]


def coordinates_of(ctx: NodeContext) -> str:
    """The coordinate transformation mode."""
    default = "asymmetric" if ctx.opset < 11 else "half_pixel"
    return ctx.text("coordinate_transformation_mode", default)


def positions(ctx: NodeContext, axis: Axis) -> Array:
    """The input coordinate of each output element.

    The nearest element depends on the last digit. Therefore, scales of the model, which are
    float32, are divided in float32, as by ONNX Runtime.
    """
    ctx.check_size([axis.out], np.dtype(np.float64).itemsize)
    at: Array = np.arange(axis.out, dtype=np.float32 if axis.stated else np.float64)
    mode, scale, half = coordinates_of(ctx), at.dtype.type(axis.scale), at.dtype.type(0.5)
    centered: Array = (at + half) / scale - half
    if mode == "asymmetric":
        return np.asarray(at / scale)
    if mode == "align_corners":
        return np.asarray(at * (axis.size - 1) / max(axis.out - 1, 1))
    if mode == "pytorch_half_pixel" and axis.out == 1:
        return at * 0
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return centered
    if mode == "tf_half_pixel_for_nn":
        return np.asarray((at + half) / scale)
    if mode == "tf_crop_and_resize":
        start, end = axis.region
        fraction = at / (axis.out - 1) if axis.out > 1 else np.array([0.5])
        return (start + fraction * (end - start)) * (axis.size - 1)
    if mode == "half_pixel_symmetric":
        offset = axis.size / 2 * (1 - axis.out / (axis.scale * axis.size))
        return np.asarray(centered + at.dtype.type(offset))
    raise Unsupported(f"coordinate_transformation_mode '{mode}' is not supported")


def outside(ctx: NodeContext, axis: Axis) -> Array:
    """The mask of output elements outside the input, for tf_crop_and_resize."""
    if coordinates_of(ctx) != "tf_crop_and_resize":
        return np.zeros(axis.out, dtype=np.bool_)
    at = positions(ctx, axis)
    return np.asarray((at < 0) | (at > axis.size - 1))


_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda p: np.asarray(np.ceil(p.astype(np.float64) - 0.5)),
    "round_prefer_ceil": lambda p: np.asarray(np.floor(p.astype(np.float64) + 0.5)),
}


def rounded_positions(ctx: NodeContext, axis: Axis) -> Array:
    """The input element of each output element in the mode "nearest".

    Opset 10 leaves the rounding open; its example and ONNX Runtime round up where they shrink.
    """
    default = "round_prefer_floor"
    if ctx.opset < 11:
        default = "ceil" if axis.scale < 1 else "floor"
    rounding = _ROUNDINGS.get(ctx.text("nearest_mode", default))
    if rounding is None:
        raise Unsupported("its nearest_mode is unknown")
    return rounding(positions(ctx, axis)).clip(0, axis.size - 1).astype(np.int64)
