"""Elementwise operators."""

from __future__ import annotations

from math import inf

from spirloom.ir import DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported

_UNARY = {
    "Abs": "aten.abs",
    "Acos": "aten.acos",
    "Acosh": "aten.acosh",
    "Asin": "aten.asin",
    "Asinh": "aten.asinh",
    "Atan": "aten.atan",
    "Atanh": "aten.atanh",
    "BitwiseNot": "aten.bitwise_not",
    "Ceil": "aten.ceil",
    "Cos": "aten.cos",
    "Cosh": "aten.cosh",
    "Erf": "aten.erf",
    "Exp": "aten.exp",
    "Floor": "aten.floor",
    "HardSwish": "aten.hardswish",
    "IsNaN": "aten.isnan",
    "Log": "aten.log",
    "Mish": "aten.mish",
    "Neg": "aten.neg",
    "Not": "aten.logical_not",
    "Reciprocal": "aten.reciprocal",
    "Relu": "aten.relu",
    "Round": "aten.round",
    "Sigmoid": "aten.sigmoid",
    "Sign": "aten.sign",
    "Sin": "aten.sin",
    "Sinh": "aten.sinh",
    "Softplus": "aten.softplus",
    "Softsign": "spirloom.softsign",
    "Sqrt": "aten.sqrt",
    "Tan": "aten.tan",
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
    "And": "aten.logical_and",
    "Or": "aten.logical_or",
    "Xor": "aten.logical_xor",
    "PRelu": "aten._prelu_kernel",
    "BitwiseAnd": "aten.bitwise_and.Tensor",
    "BitwiseOr": "aten.bitwise_or.Tensor",
    "BitwiseXor": "aten.bitwise_xor.Tensor",
}


@converts(*_UNARY)
def unary(ctx: NodeContext) -> Tensor:
    return ctx.build.emit(_UNARY[ctx.op_type], x=ctx.tensor(0))


@converts(*_BINARY)
def binary(ctx: NodeContext) -> Tensor:
    return ctx.build.emit(_BINARY[ctx.op_type], a=ctx.tensor(0), b=ctx.tensor(1))


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


@converts("Where")
def where(ctx: NodeContext) -> Tensor:
    return ctx.build.emit(
        "aten.where.self", condition=ctx.tensor(0), a=ctx.tensor(1), b=ctx.tensor(2)
    )


@converts("IsInf")
def is_inf(ctx: NodeContext) -> Tensor:
    """Both signs count unless an attribute takes one away."""
    x = ctx.tensor(0)
    signs = [s for s in ("negative", "positive") if ctx.integer(f"detect_{s}", 1)]
    if len(signs) == 2:
        return ctx.build.emit("aten.isinf", x=x)
    if not signs:
        raise Unsupported("it detects neither infinity")
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
        low, high = ctx.constant_number(1, -inf), ctx.constant_number(2, inf)
        return ctx.build.emit("aten.clamp", x=x, min=low, max=high)
    for index, op in ((1, "aten.maximum"), (2, "aten.minimum")):
        bound = ctx.optional_tensor(index)
        if bound is not None:
            x = ctx.build.emit(op, a=x, b=bound)
    return x
