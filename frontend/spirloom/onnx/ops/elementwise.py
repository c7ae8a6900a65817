"""Elementwise operators that are not one spec's `onnx`: activations with parameters, Pow."""

from __future__ import annotations

from math import inf, isclose

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts


@converts("Shrink")
def shrink(ctx: NodeContext) -> Tensor:
    lambd, bias = ctx.number("lambd", 0.5), ctx.number("bias", 0.0)
    if bias not in (0, lambd):
        raise Unsupported(f"its bias {bias} is neither 0 nor lambd, {lambd}")
    op = "aten.softshrink" if bias else "aten.hardshrink"
    return ctx.build.emit(op, x=ctx.tensor(0), lambd=lambd)


@converts("Selu")
def selu(ctx: NodeContext) -> Tensor:
    alpha = ctx.number("alpha", 1.67326319217681884765625)
    gamma = ctx.number("gamma", 1.05070102214813232421875)
    if isclose(alpha, 1.6732632, rel_tol=1e-6) and isclose(gamma, 1.0507010, rel_tol=1e-6):
        return ctx.build.emit("aten.selu", x=ctx.tensor(0))
    return ctx.build.mul(ctx.build.emit("aten.elu", x=ctx.tensor(0), alpha=alpha), gamma)


@converts("HardSigmoid")
def hard_sigmoid(ctx: NodeContext) -> Tensor:
    alpha, beta = ctx.number("alpha", 0.2), ctx.number("beta", 0.5)
    x = ctx.tensor(0)
    if isclose(alpha, 1 / 6, rel_tol=1e-6) and beta == 0.5:
        return ctx.build.emit("aten.hardsigmoid", x=x)
    line = ctx.build.add(ctx.build.mul(x, alpha), ctx.build.scalar(beta, x.dtype))
    return ctx.build.emit("aten.clamp", x=line, min=0.0, max=1.0)


@converts("Swish", "com.microsoft.QuickGelu")
def swish(ctx: NodeContext) -> Tensor:
    x, alpha = ctx.tensor(0), ctx.number("alpha", 1.0 if ctx.op_type == "Swish" else 1.702)
    if alpha == 1:
        return ctx.build.emit("aten.silu", x=x)
    return ctx.build.mul(x, ctx.build.emit("aten.sigmoid", x=ctx.build.mul(x, alpha)))


_FLOATS = (DType.F32, DType.F16)

# An upper bound of the relative error of pow on devices, which is exp2(log2(x) * y).
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
    integral = _integral(exponent)
    if integral is None:
        return _truncated_power(ctx, x, exponent)
    y = _power(ctx, _as_type(ctx, x, DType.I32), _as_type(ctx, integral, DType.I32))
    return _as_type(ctx, y, x.dtype)


def _power(ctx: NodeContext, x: Tensor, exponent: Tensor) -> Tensor:
    return ctx.build.emit("aten.pow.Tensor_Tensor", a=x, b=exponent)


def _as_type(ctx: NodeContext, value: Value, dtype: DType) -> Tensor:
    if not isinstance(value, Tensor):
        return ctx.build.constant(value.astype(dtype.numpy))
    return ctx.build.cast(value, dtype)


def _integral(exponent: Value) -> Value | None:
    """The exponent if all elements are known integers, for which powers of ints are exact."""
    if isinstance(exponent, Tensor):
        return None if exponent.dtype in _FLOATS else exponent
    fits = (np.rint(exponent) == exponent) & (abs(exponent) < 1 << 31)
    return exponent if fits.all() else None


def _truncated_power(ctx: NodeContext, x: Tensor, exponent: Value) -> Tensor:
    """The power in float32, truncated to the integer dtype of the base: 10 ** 0.5 = 3. Values
    within the device's error of an integer are rounded to it: 9 ** 1.5 = 27.
    """
    build = ctx.build
    y = _float_power(ctx, _as_type(ctx, x, DType.F32), exponent)
    nearest = build.emit("aten.round", x=y)
    off = build.emit("aten.abs", x=build.emit("aten.sub.Tensor", a=y, b=nearest))
    near = build.emit("aten.le.Tensor", a=off, b=build.mul(nearest, _ERROR))
    near = build.emit("aten.where.self", condition=near, a=nearest, b=y)
    return _as_type(ctx, near, x.dtype)


def _float_power(ctx: NodeContext, x: Tensor, exponent: Value) -> Tensor:
    """The power in float32. Exponents n + 0.5 are computed as x ** n * sqrt(x), which is more
    accurate.
    """
    if isinstance(exponent, Tensor) or exponent.size != 1 or exponent.item() % 1 != 0.5:
        return _power(ctx, x, _as_type(ctx, exponent, DType.F32))
    y = ctx.build.emit("aten.sqrt", x=x)
    integral = exponent - np.asarray(0.5, exponent.dtype)
    if integral.item() != 0:
        y = ctx.build.mul(_power(ctx, x, _as_type(ctx, integral, DType.F32)), y)
    return ctx.build.view(y, np.broadcast_shapes(x.shape, exponent.shape))


@converts("Div")
def div(ctx: NodeContext) -> Tensor:
    a, b = ctx.tensor(0), ctx.tensor(1)
    if a.dtype in (DType.F32, DType.F16):
        return ctx.build.emit("aten.div.Tensor", a=a, b=b)
    return ctx.build.emit("aten.div.Tensor_mode", a=a, b=b, rounding_mode="trunc")


@converts("Mod")
def mod(ctx: NodeContext) -> Tensor:
    op = "aten.fmod.Tensor" if ctx.integer("fmod", 0) else "aten.remainder.Tensor"
    return ctx.build.emit(op, a=ctx.tensor(0), b=ctx.tensor(1))


@converts("BitShift")
def bit_shift(ctx: NodeContext) -> Tensor:
    side = "left" if ctx.text("direction", "") == "LEFT" else "right"
    op = f"aten.bitwise_{side}_shift.Tensor"
    return ctx.build.emit(op, a=ctx.tensor(0), b=ctx.tensor(1))


@converts("Max", "Min", "Sum", "Mean")
def variadic(ctx: NodeContext) -> Tensor:
    op = {"Max": "aten.maximum", "Min": "aten.minimum"}.get(ctx.op_type, "aten.add.Tensor")
    result = ctx.tensor(0)
    for i in range(1, len(ctx.inputs)):
        result = ctx.build.emit(op, a=result, b=ctx.tensor(i))
    return ctx.build.mul(result, 1 / len(ctx.inputs)) if ctx.op_type == "Mean" else result


@converts("IsInf")
def is_inf(ctx: NodeContext) -> Tensor:
    """Detects both infinities, unless an attribute excludes one."""
    x = ctx.tensor(0)
    signs = [s for s in ("negative", "positive") if ctx.integer(f"detect_{s}", 1)]
    if len(signs) == 2:
        return ctx.build.emit("aten.isinf", x=x)
    if not signs:
        raise Unsupported("detect_negative and detect_positive are both 0")
    infinity = ctx.build.scalar(-inf if signs == ["negative"] else inf, x.dtype)
    return ctx.build.emit("aten.eq.Tensor", a=x, b=infinity)


@converts("Clip")
def clip(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    if ctx.opset < 11:
        low, high = ctx.number("min", -inf), ctx.number("max", inf)
        return ctx.build.emit("aten.clamp", x=x, min=low, max=high)
    bounds = [ctx.optional(1), ctx.optional(2)]
    if x.dtype in (DType.F32, DType.F16) and not any(isinstance(b, Tensor) for b in bounds):
        low, high = ctx.constant_scalar(1, -inf), ctx.constant_scalar(2, inf)
        return ctx.build.emit("aten.clamp", x=x, min=low, max=high)
    for index, op in ((1, "aten.maximum"), (2, "aten.minimum")):
        bound = ctx.optional_tensor(index)
        if bound is not None:
            x = ctx.build.emit(op, a=x, b=bound)
    return x
