"""Elementwise operators."""

from __future__ import annotations

from math import inf, isclose

import numpy as np

from spirloom.ir import DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import Unsupported, converts

_UNARY = {
    "Abs": "aten.abs",
    "Ceil": "aten.ceil",
    "Cos": "aten.cos",
    "Erf": "aten.erf",
    "Exp": "aten.exp",
    "Floor": "aten.floor",
    "HardSwish": "aten.hardswish",
    "Log": "aten.log",
    "Neg": "aten.neg",
    "Reciprocal": "aten.reciprocal",
    "Relu": "aten.relu",
    "Round": "aten.round",
    "Sigmoid": "aten.sigmoid",
    "Sin": "aten.sin",
    "Softplus": "aten.softplus",
    "Sqrt": "aten.sqrt",
    "Tanh": "aten.tanh",
}

_BINARY = {
    "Add": "aten.add.Tensor",
    "Sub": "aten.sub.Tensor",
    "Mul": "aten.mul.Tensor",
    "Equal": "aten.eq.Tensor",
    "Less": "aten.lt.Tensor",
    "LessOrEqual": "aten.le.Tensor",
    "Greater": "aten.gt.Tensor",
    "GreaterOrEqual": "aten.ge.Tensor",
}


@converts(*_UNARY)
def unary(ctx: NodeContext) -> Tensor:
    return ctx.build.emit(_UNARY[ctx.op_type], x=ctx.tensor(0))


@converts(*_BINARY)
def binary(ctx: NodeContext) -> Tensor:
    a, b = ctx.tensor(0), ctx.tensor(1)
    if ctx.op_type == "Equal":
        a, b = _bits(ctx, a), _bits(ctx, b)
    return ctx.build.emit(_BINARY[ctx.op_type], a=a, b=b)


@converts("Div")
def div(ctx: NodeContext) -> Tensor:
    a, b = ctx.tensor(0), ctx.tensor(1)
    if a.dtype not in (DType.F32, DType.F16):
        raise Unsupported("integer division is not supported")
    return ctx.build.emit("aten.div.Tensor", a=a, b=b)


@converts("Pow")
def power(ctx: NodeContext) -> Tensor:
    x, exponent = ctx.tensor(0), ctx.value(1)
    if isinstance(exponent, Tensor):
        if exponent.dtype is not x.dtype:
            exponent = ctx.build.emit("aten._to_copy", x=exponent, dtype=str(x.dtype))
        return ctx.build.emit("aten.pow.Tensor_Tensor", a=x, b=exponent)
    if exponent.size == 1 and exponent.ndim <= len(x.shape):
        if exponent.item() == 2:
            return ctx.build.mul(x, x)
        if exponent.item() == 0.5 and x.dtype is not DType.I32:
            return ctx.build.emit("aten.sqrt", x=x)
    values = ctx.build.constant(exponent.astype(x.dtype.numpy))
    return ctx.build.emit("aten.pow.Tensor_Tensor", a=x, b=values)


@converts("Max", "Min", "Sum", "Mean")
def variadic(ctx: NodeContext) -> Tensor:
    op = {"Max": "aten.maximum", "Min": "aten.minimum"}.get(ctx.op_type, "aten.add.Tensor")
    result = ctx.tensor(0)
    for i in range(1, len(ctx.inputs)):
        result = ctx.build.emit(op, a=result, b=ctx.tensor(i))
    return ctx.build.mul(result, 1 / len(ctx.inputs)) if ctx.op_type == "Mean" else result


@converts("Where")
def where(ctx: NodeContext) -> Tensor:
    return ctx.build.emit(
        "aten.where.self", condition=ctx.tensor(0), a=ctx.tensor(1), b=ctx.tensor(2)
    )


@converts("And", "Or", "Xor")
def logical(ctx: NodeContext) -> Tensor:
    """Computed on 0 and 1: their product, maximum or inequality."""
    a, b = (_bits(ctx, ctx.tensor(i)) for i in (0, 1))
    if ctx.op_type == "Xor":
        return ctx.build.emit("aten.ne.Tensor", a=a, b=b)
    op = "aten.mul.Tensor" if ctx.op_type == "And" else "aten.maximum"
    zero = ctx.build.scalar(0, DType.I32)
    return ctx.build.emit("aten.ne.Tensor", a=ctx.build.emit(op, a=a, b=b), b=zero)


@converts("Not")
def logical_not(ctx: NodeContext) -> Tensor:
    zero = ctx.build.scalar(0, DType.I32)
    return ctx.build.emit("aten.eq.Tensor", a=_bits(ctx, ctx.tensor(0)), b=zero)


def _bits(ctx: NodeContext, x: Tensor) -> Tensor:
    """A boolean tensor as 0 and 1 of int32; others as they are."""
    if x.dtype is not DType.B8:
        return x
    return ctx.build.emit("aten._to_copy", x=x, dtype="i32")


@converts("IsNaN")
def is_nan(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.ne.Tensor", a=ctx.tensor(0), b=ctx.tensor(0))


@converts("ThresholdedRelu")
def thresholded_relu(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    threshold = ctx.build.scalar(ctx.number("alpha", 1.0), x.dtype)
    above = ctx.build.emit("aten.gt.Tensor", a=x, b=threshold)
    return ctx.build.emit("aten.where.self", condition=above, a=x, b=ctx.build.scalar(0, x.dtype))


@converts("Clip")
def clip(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    if ctx.opset < 11:
        low, high = ctx.number("min", -inf), ctx.number("max", inf)
        return ctx.build.emit("aten.clamp", x=x, min=low, max=high)
    bounds = [ctx.optional(1), ctx.optional(2)]
    if x.dtype in (DType.F32, DType.F16) and not any(isinstance(b, Tensor) for b in bounds):
        values = [None if b is None else float(np.asarray(b).item()) for b in bounds]
        low = -inf if values[0] is None else values[0]
        high = inf if values[1] is None else values[1]
        return ctx.build.emit("aten.clamp", x=x, min=low, max=high)
    for index, op in ((1, "aten.maximum"), (2, "aten.minimum")):
        bound = ctx.optional_tensor(index)
        if bound is not None:
            x = ctx.build.emit(op, a=x, b=bound)
    return x


@converts("LeakyRelu")
def leaky_relu(ctx: NodeContext) -> Tensor:
    slope = ctx.number("alpha", 0.01)
    return ctx.build.emit("aten.leaky_relu", x=ctx.tensor(0), negative_slope=slope)


@converts("PRelu")
def prelu(ctx: NodeContext) -> Tensor:
    x, slope = ctx.tensor(0), ctx.tensor(1)
    negative = ctx.build.emit("aten.minimum", a=x, b=ctx.build.scalar(0, x.dtype))
    positive = ctx.build.emit("aten.relu", x=x)
    return ctx.build.add(positive, ctx.build.mul(negative, slope))


@converts("Elu")
def elu(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.elu", x=ctx.tensor(0), alpha=ctx.number("alpha", 1.0))


@converts("Selu")
def selu(ctx: NodeContext) -> Tensor:
    alpha = ctx.number("alpha", 1.67326319217681884765625)
    gamma = ctx.number("gamma", 1.05070102214813232421875)
    return ctx.build.mul(ctx.build.emit("aten.elu", x=ctx.tensor(0), alpha=alpha), gamma)


@converts("Celu")
def celu(ctx: NodeContext) -> Tensor:
    alpha = ctx.number("alpha", 1.0)
    scaled = ctx.build.mul(ctx.tensor(0), 1 / alpha)
    return ctx.build.mul(ctx.build.emit("aten.elu", x=scaled, alpha=1.0), alpha)


@converts("HardSigmoid")
def hard_sigmoid(ctx: NodeContext) -> Tensor:
    alpha, beta = ctx.number("alpha", 0.2), ctx.number("beta", 0.5)
    x = ctx.tensor(0)
    if isclose(alpha, 1 / 6, rel_tol=1e-6) and beta == 0.5:
        return ctx.build.emit("aten.hardsigmoid", x=x)
    line = ctx.build.add(ctx.build.mul(x, alpha), ctx.build.scalar(beta, x.dtype))
    return ctx.build.emit("aten.clamp", x=line, min=0.0, max=1.0)


@converts("Softsign")
def softsign(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    size = ctx.build.add(ctx.build.emit("aten.abs", x=x), ctx.build.scalar(1, x.dtype))
    return ctx.build.emit("aten.div.Tensor", a=x, b=size)


@converts("Mish")
def mish(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    softplus = ctx.build.emit("aten.softplus", x=x)
    return ctx.build.mul(x, ctx.build.emit("aten.tanh", x=softplus))


@converts("Gelu")
def gelu(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.gelu", x=ctx.tensor(0), approximate=ctx.text("approximate", "none"))
