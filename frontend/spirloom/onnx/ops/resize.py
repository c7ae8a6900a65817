"""Resize and Upsample: PyTorch's upsampling if equivalent, otherwise gathers or matmuls."""

from __future__ import annotations

from math import isclose

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import Array, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.data_movement import index_select
from spirloom.onnx.ops.resize_axes import (
    Axis,
    coordinates_of,
    outside,
    positions,
    read_axes,
    rounded_positions,
)
from spirloom.onnx.ops.resize_symbolic import resize_symbolic
from spirloom.onnx.registry import converts
from spirloom.onnx.size_arrays import SizeArray
from spirloom.sizes import is_symbolic


@converts("Resize", "Upsample")
def resize(ctx: NodeContext) -> Tensor:
    x, mode = ctx.tensor(0), ctx.text("mode", "nearest")
    if is_symbolic(x.shape) or isinstance(ctx.known(3), SizeArray):
        return resize_symbolic(ctx, x, mode)
    axes = [a for a in read_axes(ctx, x.shape) if not a.unchanged]
    if not axes:
        ctx.without_effect("nearest_mode", "extrapolation_value")
    if mode == "nearest" or not axes:
        ctx.without_effect("antialias", "cubic_coeff_a", "exclude_outside")
    if not axes and mode in ("nearest", "linear", "bilinear", "cubic"):
        return x
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
    selected = [(axis, rounded_positions(ctx, axis)) for axis in axes]
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
