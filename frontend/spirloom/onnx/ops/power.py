"""Pow, whose result has the base's type, whatever type the exponent is of."""

from __future__ import annotations

import numpy as np

from spirloom.ir import DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Value

_FLOATS = (DType.F32, DType.F16)

# The relative error of powers on devices, which go through log2 and exp2, with room to spare.
_ERROR = 2.0**-18


@converts("Pow")
def power(ctx: NodeContext) -> Tensor:
    x, exponent = ctx.tensor(0), ctx.value(1)
    if not isinstance(exponent, Tensor) and exponent.size == 1 and exponent.ndim <= len(x.shape):
        if exponent.item() == 2:
            return ctx.build.mul(x, x)
        if exponent.item() == 0.5 and x.dtype in _FLOATS:
            return ctx.build.emit("aten.sqrt", x=x)
    if x.dtype in _FLOATS:
        return _power(ctx, x, _as_type(ctx, exponent, x.dtype))
    whole = _whole(exponent)
    if whole is None:
        return _rounded_to_whole(ctx, x, exponent)
    y = _power(ctx, _as_type(ctx, x, DType.I32), _as_type(ctx, whole, DType.I32))
    return _as_type(ctx, y, x.dtype)


def _power(ctx: NodeContext, x: Tensor, exponent: Tensor) -> Tensor:
    return ctx.build.emit("aten.pow.Tensor_Tensor", a=x, b=exponent)


def _as_type(ctx: NodeContext, value: Value, dtype: DType) -> Tensor:
    if not isinstance(value, Tensor):
        return ctx.build.constant(value.astype(dtype.numpy))
    if value.dtype is dtype:
        return value
    return ctx.build.emit("aten._to_copy", x=value, dtype=str(dtype))


def _whole(exponent: Value) -> Value | None:
    """The exponent if all of it is surely whole, so that powers of ints can be exact."""
    if isinstance(exponent, Tensor):
        return None if exponent.dtype in _FLOATS else exponent
    fits = (np.rint(exponent) == exponent) & (abs(exponent) < 1 << 31)
    return exponent if fits.all() else None


def _rounded_to_whole(ctx: NodeContext, x: Tensor, exponent: Value) -> Tensor:
    """The power in float32, cut to the base's type: 10 ** 0.5 is 3. A power so near a whole number
    that the difference may be the device's error is that number: 9 ** 1.5 is 27."""
    build = ctx.build
    y = _float_power(ctx, _as_type(ctx, x, DType.F32), exponent)
    nearest = build.emit("aten.round", x=y)
    off = build.emit("aten.abs", x=build.emit("aten.sub.Tensor", a=y, b=nearest))
    near = build.emit("aten.le.Tensor", a=off, b=build.mul(nearest, _ERROR))
    near = build.emit("aten.where.self", condition=near, a=nearest, b=y)
    return _as_type(ctx, near, x.dtype)


def _float_power(ctx: NodeContext, x: Tensor, exponent: Value) -> Tensor:
    """One and a half and its like are products and a root, which err less than powers do."""
    if isinstance(exponent, Tensor) or exponent.size != 1 or exponent.item() % 1 != 0.5:
        return _power(ctx, x, _as_type(ctx, exponent, DType.F32))
    y = ctx.build.emit("aten.sqrt", x=x)
    whole = exponent - np.asarray(0.5, exponent.dtype)
    if whole.item() != 0:
        y = ctx.build.mul(_power(ctx, x, _as_type(ctx, whole, DType.F32)), y)
    return ctx.build.view(y, np.broadcast_shapes(x.shape, exponent.shape))
