"""ONNX Runtime's quantized operators: dequantize, a float operator, and quantize.

Passes fuse them into integer operators where there is one.
"""

from __future__ import annotations

from collections.abc import Callable

from spirloom.errors import Unsupported
from spirloom.ir import Array, Tensor
from spirloom.layers.quantization import QParams, dequantize
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.matmul import matmul_of
from spirloom.onnx.ops.quantize import emit_quantize, known, zero_point
from spirloom.onnx.registry import converts


def _scaling(ctx: NodeContext, index: int, like: int | None = None) -> tuple[Array, Array]:
    """The scale at an input index, and the zero point at the next one."""
    scale = known(ctx, index)
    dtype = ctx.tensor(0 if like is None else like).dtype
    zero = zero_point(ctx, index + 1, dtype)
    if scale is None or zero is None:
        raise Unsupported(f"its scale and zero point (inputs {index} and {index + 1}) vary")
    return scale, zero


def _operand(ctx: NodeContext, index: int) -> Tensor:
    """The dequantized input, whose scale and zero point follow it."""
    return dequantize(ctx.build, ctx.tensor(index), QParams(*_scaling(ctx, index + 1, index)))


_BINARY = {
    "com.microsoft.QLinearAdd": "aten.add.Tensor",
    "com.microsoft.QLinearMul": "aten.mul.Tensor",
}


@converts(*_BINARY)
def binary(ctx: NodeContext) -> Tensor:
    op = _BINARY[f"{ctx.node.domain}.{ctx.op_type}"]
    y = ctx.build.emit(op, a=_operand(ctx, 0), b=_operand(ctx, 3))
    return emit_quantize(ctx, y, *_scaling(ctx, 6))


_UNARY: dict[str, Callable[[NodeContext, Tensor], Tensor]] = {
    "com.microsoft.QLinearSigmoid": lambda ctx, x: ctx.build.emit("aten.sigmoid", x=x),
    "com.microsoft.QLinearLeakyRelu": lambda ctx, x: ctx.build.emit(
        "aten.leaky_relu", x=x, negative_slope=ctx.number("alpha", 0.01)
    ),
    "com.microsoft.QLinearGlobalAveragePool": lambda ctx, x: ctx.build.reduce(
        "aten.mean.dim", x, range(2, len(x.shape))
    ),
}


@converts(*_UNARY)
def unary(ctx: NodeContext) -> Tensor:
    if ctx.integer("channels_last", 0):
        raise Unsupported("channels_last is not supported")
    y = _UNARY[f"{ctx.node.domain}.{ctx.op_type}"](ctx, _operand(ctx, 0))
    return emit_quantize(ctx, y, *_scaling(ctx, 3))


@converts("com.microsoft.QLinearConcat")
def concat(ctx: NodeContext) -> Tensor:
    """Inputs 0 and 1 are the scale and zero point of the result; three inputs for each operand."""
    parts = [_operand(ctx, index) for index in range(2, len(ctx.inputs), 3)]
    axis = ctx.axis(ctx.integer("axis", 0), len(parts[0].shape))
    return emit_quantize(ctx, ctx.build.cat(parts, axis), *_scaling(ctx, 0, 2))


@converts("com.microsoft.MatMulIntegerToFloat")
def matmul_integer_to_float(ctx: NodeContext) -> Tensor:
    scale, zero = known(ctx, 2), zero_point(ctx, 4, ctx.tensor(0).dtype)
    if scale is None or zero is None or scale.size != 1:
        raise Unsupported("its activations' scale and zero point must be single constants")
    x = dequantize(ctx.build, ctx.tensor(0), QParams(scale, zero))
    return ctx.plus(matmul_of(ctx, x, _weight(ctx, 1, 3, 5)), 6)


@converts("com.microsoft.DynamicQuantizeMatMul")
def dynamic_quantize_matmul(ctx: NodeContext) -> Tensor:
    """With 8-bit weights and float activations, which are not quantized: more exact than the
    operator, within its quantization error.
    """
    return ctx.plus(matmul_of(ctx, ctx.tensor(0), _weight(ctx, 1, 2, 3)), 4)


def _weight(ctx: NodeContext, index: int, scale_index: int, zero_index: int) -> Tensor:
    """The dequantized weight, with one scale or one per column."""
    scale, zero = known(ctx, scale_index), zero_point(ctx, zero_index, ctx.tensor(index).dtype)
    if known(ctx, index) is None or scale is None or zero is None:
        raise Unsupported("its weight, scale and zero point must be constants")
    count = max(scale.size, zero.size)
    if count not in (1, ctx.tensor(index).shape[-1]):
        raise Unsupported(f"its {count} scales do not fit the weight {ctx.tensor(index)}")
    x = ctx.tensor(index)
    qparams = (
        QParams(scale.reshape(()), zero.reshape(()))
        if count == 1
        else QParams.per_channel(scale, zero, len(x.shape) - 1)
    )
    return dequantize(ctx.build, x, qparams)
