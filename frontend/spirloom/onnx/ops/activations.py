"""Activation functions with parameters."""

from __future__ import annotations

from math import isclose

from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported


@converts("ThresholdedRelu")
def thresholded_relu(ctx: NodeContext) -> Tensor:
    threshold = ctx.number("alpha", 1.0)
    return ctx.build.emit("aten.threshold", x=ctx.tensor(0), threshold=threshold, value=0.0)


@converts("Shrink")
def shrink(ctx: NodeContext) -> Tensor:
    lambd, bias = ctx.number("lambd", 0.5), ctx.number("bias", 0.0)
    if bias not in (0, lambd):
        raise Unsupported(f"its bias {bias} is neither 0 nor lambd, {lambd}")
    op = "aten.softshrink" if bias else "aten.hardshrink"
    return ctx.build.emit(op, x=ctx.tensor(0), lambd=lambd)


@converts("LeakyRelu")
def leaky_relu(ctx: NodeContext) -> Tensor:
    slope = ctx.number("alpha", 0.01)
    return ctx.build.emit("aten.leaky_relu", x=ctx.tensor(0), negative_slope=slope)


@converts("Elu")
def elu(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.elu", x=ctx.tensor(0), alpha=ctx.number("alpha", 1.0))


@converts("Selu")
def selu(ctx: NodeContext) -> Tensor:
    alpha = ctx.number("alpha", 1.67326319217681884765625)
    gamma = ctx.number("gamma", 1.05070102214813232421875)
    if isclose(alpha, 1.6732632, rel_tol=1e-6) and isclose(gamma, 1.0507010, rel_tol=1e-6):
        return ctx.build.emit("aten.selu", x=ctx.tensor(0))
    return ctx.build.mul(ctx.build.emit("aten.elu", x=ctx.tensor(0), alpha=alpha), gamma)


@converts("Celu")
def celu(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.celu", x=ctx.tensor(0), alpha=ctx.number("alpha", 1.0))


@converts("HardSigmoid")
def hard_sigmoid(ctx: NodeContext) -> Tensor:
    alpha, beta = ctx.number("alpha", 0.2), ctx.number("beta", 0.5)
    x = ctx.tensor(0)
    if isclose(alpha, 1 / 6, rel_tol=1e-6) and beta == 0.5:
        return ctx.build.emit("aten.hardsigmoid", x=x)
    line = ctx.build.add(ctx.build.mul(x, alpha), ctx.build.scalar(beta, x.dtype))
    return ctx.build.emit("aten.clamp", x=line, min=0.0, max=1.0)


@converts("Gelu")
def gelu(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.gelu", x=ctx.tensor(0), approximate=ctx.text("approximate", "none"))
