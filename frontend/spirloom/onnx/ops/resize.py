"""Resize and Upsample: PyTorch's upsampling where it means the same, else picks and products."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose

import numpy as np

from spirloom.ir import Array, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.arrange import pick
from spirloom.onnx.resampling import Axis, coordinates_of, outside, positions, read_axes
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported

_ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda p: np.asarray(np.ceil(p - 0.5)),
    "round_prefer_ceil": lambda p: np.asarray(np.floor(p + 0.5)),
}


@converts("Resize", "Upsample")
def resize(ctx: NodeContext) -> Tensor:
    x, mode = ctx.tensor(0), ctx.text("mode", "nearest")
    axes = [a for a in read_axes(ctx, x.shape) if not a.unchanged]
    if mode == "nearest":
        return _extrapolated(ctx, _nearest(ctx, x, axes), axes)
    if mode not in ("linear", "bilinear", "cubic"):
        raise Unsupported(f"mode '{mode}' is not supported")
    y = _interpolate(ctx, x, axes, "cubic" if mode == "cubic" else "linear")
    return _extrapolated(ctx, y, axes)


def _extrapolated(ctx: NodeContext, y: Tensor, axes: list[Axis]) -> Tensor:
    """The result with a fixed value where a region reaches beyond the input."""
    value = ctx.build.scalar(ctx.number("extrapolation_value", 0.0), y.dtype)
    for axis in axes:
        beyond = outside(ctx, axis)
        if beyond.any():
            mask = beyond.reshape([-1 if d == axis.dim else 1 for d in range(len(y.shape))])
            condition = ctx.build.constant(mask)
            y = ctx.build.emit("aten.where.self", condition=condition, a=value, b=y)
    return y


def _nearest(ctx: NodeContext, x: Tensor, axes: list[Axis]) -> Tensor:
    default = "floor" if ctx.opset < 11 else "round_prefer_floor"
    rounding = _ROUNDINGS.get(ctx.text("nearest_mode", default))
    if rounding is None:
        raise Unsupported("its nearest_mode is unknown")
    picks = []
    for axis in axes:
        indices = rounding(positions(ctx, axis)).clip(0, axis.size - 1).astype(np.int64)
        picks.append((axis, indices))
    # PyTorch's rule: floor(position · in / out).
    torch_like = all(np.array_equal(i, np.arange(a.out) * a.size // a.out) for a, i in picks)
    if torch_like and _planar(x, axes):
        return ctx.build.emit("aten.upsample_nearest2d", x=x, output_size=_planar_size(x, axes))
    # And its rule "nearest-exact": the element that the output's centre lies in.
    exact = all(
        np.array_equal(i, (2 * np.arange(a.out) + 1) * a.size // (2 * a.out)) for a, i in picks
    )
    if exact and _planar(x, axes):
        size = _planar_size(x, axes)
        return ctx.build.emit("aten._upsample_nearest_exact2d", x=x, output_size=size)
    for axis, indices in picks:
        x = pick(ctx, x, axis.dim, indices)
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
        if coordinates == "align_corners" and exact:
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
    """The matrix [out, in] that interpolates one dimension."""
    stretch = max(1.0, 1 / axis.scale) if ctx.integer("antialias", 0) else 1.0
    reach = (2 if mode == "cubic" else 1) * stretch
    a = ctx.number("cubic_coeff_a", -0.75)
    ctx.check_size([axis.out, axis.size], np.dtype(np.float64).itemsize)
    matrix = np.zeros((axis.out, axis.size))
    for row, position in enumerate(positions(ctx, axis)):
        taps = np.arange(np.floor(position - reach) + 1, np.floor(position + reach) + 1)
        weights = _kernel(np.abs(taps - position) / stretch, mode, a)
        if ctx.integer("exclude_outside", 0):
            weights = np.where((taps >= 0) & (taps < axis.size), weights, 0)
        columns = taps.clip(0, axis.size - 1).astype(np.int64)
        np.add.at(matrix[row], columns, weights / weights.sum())
    return matrix


def _kernel(distance: Array, mode: str, a: float) -> Array:
    if mode == "linear":
        return np.maximum(1 - distance, 0)
    near = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    far = a * distance**3 - 5 * a * distance**2 + 8 * a * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))


def _along(ctx: NodeContext, x: Tensor, axis: Axis, matrix: Array) -> Tensor:
    """The product of a matrix with one dimension of x."""
    order = [d for d in range(len(x.shape)) if d != axis.dim] + [axis.dim]
    weight = ctx.build.constant(matrix.astype(x.dtype.numpy))
    y = ctx.build.emit("aten.linear", x=ctx.build.permute(x, order), weight=weight)
    return ctx.build.permute(y, [order.index(d) for d in range(len(order))])
