"""Resize and Upsample: PyTorch's upsampling if equivalent, otherwise gathers or matmuls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isclose

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import Array, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.data_movement import index_select
from spirloom.onnx.registry import converts

_MAX_SIZE = 1 << 24  # of an output dimension


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


@converts("Resize", "Upsample")
def resize(ctx: NodeContext) -> Tensor:
    x, mode = ctx.tensor(0), ctx.text("mode", "nearest")
    axes = [a for a in read_axes(ctx, x.shape) if not a.unchanged]
    if mode == "nearest" or not axes:
        ctx.without_effect("antialias", "cubic_coeff_a", "exclude_outside")
    if mode == "nearest":
        return _extrapolated(ctx, _nearest(ctx, x, axes), axes)
    ctx.without_effect("nearest_mode", *([] if mode == "cubic" else ["cubic_coeff_a"]))
    if mode not in ("linear", "bilinear", "cubic"):
        raise Unsupported(f"mode '{mode}' is not supported")
    y = _interpolate(ctx, x, axes, "cubic" if mode == "cubic" else "linear")
    return _extrapolated(ctx, y, axes)


def _extrapolated(ctx: NodeContext, y: Tensor, axes: list[Axis]) -> Tensor:
    """Sets `extrapolation_value` outside the input."""
    value = ctx.build.scalar(ctx.number("extrapolation_value", 0.0), y.dtype)
    for axis in axes:
        extrapolated = outside(ctx, axis)
        if extrapolated.any():
            mask = extrapolated.reshape([-1 if d == axis.dim else 1 for d in range(len(y.shape))])
            condition = ctx.build.constant(mask)
            y = ctx.build.emit("aten.where.self", condition=condition, a=value, b=y)
    return y


def _nearest(ctx: NodeContext, x: Tensor, axes: list[Axis]) -> Tensor:
    default = "floor" if ctx.opset < 11 else "round_prefer_floor"
    rounding = _ROUNDINGS.get(ctx.text("nearest_mode", default))
    if rounding is None:
        raise Unsupported("its nearest_mode is unknown")
    selected = []
    for axis in axes:
        indices = rounding(positions(ctx, axis)).clip(0, axis.size - 1).astype(np.int64)
        selected.append((axis, indices))
    # PyTorch's "nearest": floor(position · in / out).
    torch_like = all(np.array_equal(i, np.arange(a.out) * a.size // a.out) for a, i in selected)
    if torch_like and _planar(x, axes):
        return ctx.build.emit("aten.upsample_nearest2d", x=x, output_size=_planar_size(x, axes))
    # PyTorch's "nearest-exact": the element that contains the center of the output element.
    exact = all(
        np.array_equal(i, (2 * np.arange(a.out) + 1) * a.size // (2 * a.out)) for a, i in selected
    )
    if exact and _planar(x, axes):
        size = _planar_size(x, axes)
        return ctx.build.emit("aten._upsample_nearest_exact2d", x=x, output_size=size)
    for axis, indices in selected:
        x = index_select(ctx, x, axis.dim, indices)
    return x


def _interpolate(ctx: NodeContext, x: Tensor, axes: list[Axis], mode: str) -> Tensor:
    coordinates = coordinates_of(ctx)
    exact = all(isclose(a.out, a.scale * a.size, rel_tol=1e-6) for a in axes)
    half_pixel = coordinates == "half_pixel" or (
        coordinates == "pytorch_half_pixel" and all(a.out > 1 for a in axes)
    )
    options = (ctx.integer("antialias", 0), ctx.integer("exclude_outside", 0))
    plain = options == (0, 0) and (mode == "linear" or ctx.number("cubic_coeff_a", -0.75) == -0.75)
    op = f"aten.upsample_bi{mode}2d"
    if plain and _planar(x, axes):
        size = _planar_size(x, axes)
        if coordinates == "align_corners":
            return ctx.build.emit(op, x=x, output_size=size, align_corners=True)
        if half_pixel and exact:
            return ctx.build.emit(op, x=x, output_size=size, align_corners=False)
    for axis in axes:
        x = _along(ctx, x, axis, _weights(ctx, axis, mode))
    return x


def _planar(x: Tensor, axes: list[Axis]) -> bool:
    return len(x.shape) == 4 and all(a.dim >= 2 for a in axes)


def _planar_size(x: Tensor, axes: list[Axis]) -> tuple[int, int]:
    sizes = dict(enumerate(x.shape)) | {a.dim: a.out for a in axes}
    return sizes[2], sizes[3]


def _weights(ctx: NodeContext, axis: Axis, mode: str) -> Array:
    """The interpolation matrix [out, in] of one dimension."""
    stretch = max(1.0, 1 / axis.scale) if ctx.integer("antialias", 0) else 1.0
    support = (2 if mode == "cubic" else 1) * stretch
    a = ctx.number("cubic_coeff_a", -0.75)
    ctx.check_size([axis.out, axis.size], np.dtype(np.float64).itemsize)
    matrix = np.zeros((axis.out, axis.size))
    for row, position in enumerate(positions(ctx, axis)):
        taps = np.arange(np.floor(position - support) + 1, np.floor(position + support) + 1)
        weights = _kernel(np.abs(taps - position) / stretch, mode, a)
        if ctx.integer("exclude_outside", 0):
            weights = np.where((taps >= 0) & (taps < axis.size), weights, 0)
        columns = taps.clip(0, axis.size - 1).astype(np.int64)
        np.add.at(matrix[row], columns, weights / weights.sum())
    return matrix


def _kernel(distance: Array, mode: str, a: float) -> Array:
    if mode == "linear":
        triangle: Array = np.maximum(1 - distance, 0)
        return triangle
    near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    far = a * distance**3 - 5 * a * distance**2 + 8 * a * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


def _along(ctx: NodeContext, x: Tensor, axis: Axis, matrix: Array) -> Tensor:
    """Multiplies one dimension of x by a matrix."""
    order = [d for d in range(len(x.shape)) if d != axis.dim] + [axis.dim]
    weight = ctx.build.constant(matrix.astype(x.dtype.numpy))
    y = ctx.build.emit("aten.linear", x=ctx.build.permute(x, order), weight=weight)
    return ctx.build.permute(y, [order.index(d) for d in range(len(order))])
