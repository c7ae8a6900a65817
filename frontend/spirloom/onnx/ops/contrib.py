"""Fused operators of ONNX Runtime (com.microsoft), as its optimizer and exporters write them."""

from __future__ import annotations

from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.matmul import product
from spirloom.onnx.ops.normalize import root_mean_square
from spirloom.onnx.table import converts


@converts("com.microsoft.FusedMatMul", "com.microsoft.TransposeMatMul")
def fused_matmul(ctx: NodeContext) -> Tensor:
    a, b = (_transposed(ctx, ctx.ranked(i, 1), side) for i, side in enumerate("AB"))
    alpha = ctx.number("alpha", 1.0)
    y = product(ctx, a, b)
    return y if alpha == 1 else ctx.build.mul(y, alpha)


def _transposed(ctx: NodeContext, x: Tensor, side: str) -> Tensor:
    """An operand with its last two dimensions swapped, or with its first moved to their front."""
    rank = len(x.shape)
    dims = list(range(rank))
    if ctx.integer(f"transBatch{side}", 0) and rank > 2:
        dims = [*dims[1:-1], 0, dims[-1]]
    if ctx.integer(f"trans{side}", 0) and rank > 1:
        dims[-2:] = dims[:-3:-1]
    return ctx.build.permute(x, dims)


@converts("com.microsoft.Gelu", "com.microsoft.BiasGelu")
def gelu(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.gelu", x=_with_bias(ctx), approximate="none")


@converts("com.microsoft.FastGelu")
def fast_gelu(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.gelu", x=_with_bias(ctx), approximate="tanh")


def _with_bias(ctx: NodeContext) -> Tensor:
    x, bias = ctx.tensor(0), ctx.optional_tensor(1)
    return x if bias is None else ctx.build.add(x, bias)


@converts("com.microsoft.QuickGelu")
def quick_gelu(ctx: NodeContext) -> Tensor:
    x, alpha = ctx.tensor(0), ctx.number("alpha", 1.702)
    if alpha == 1:
        return ctx.build.emit("aten.silu", x=x)
    return ctx.build.mul(x, ctx.build.emit("aten.sigmoid", x=ctx.build.mul(x, alpha)))


@converts("com.microsoft.SimplifiedLayerNormalization")
def simplified_layer_norm(ctx: NodeContext) -> Tensor:
    ctx.refuse_extra_outputs()
    return root_mean_square(ctx, ctx.tensor(0), ctx.tensor(1), ctx.number("epsilon", 1e-5))


@converts("com.microsoft.SkipLayerNormalization")
def skip_layer_norm(ctx: NodeContext) -> list[Tensor]:
    total = _sum_of_skip(ctx, bias=4)
    y = ctx.build.emit(
        "aten.native_layer_norm",
        x=total,
        normalized_shape=total.shape[-1:],
        weight=ctx.tensor(2),
        bias=ctx.optional_tensor(3),
        eps=ctx.number("epsilon", 1e-12),
    )
    return _with_sum(ctx, y, total)


@converts("com.microsoft.SkipSimplifiedLayerNormalization")
def skip_simplified_layer_norm(ctx: NodeContext) -> list[Tensor]:
    total = _sum_of_skip(ctx, bias=3)
    eps = ctx.number("epsilon", 1e-12)
    return _with_sum(ctx, root_mean_square(ctx, total, ctx.tensor(2), eps), total)


def _sum_of_skip(ctx: NodeContext, bias: int) -> Tensor:
    total = ctx.build.add(ctx.ranked(0, 1), ctx.tensor(1))
    added = ctx.optional_tensor(bias)
    return total if added is None else ctx.build.add(total, added)


def _with_sum(ctx: NodeContext, y: Tensor, total: Tensor) -> list[Tensor]:
    """The outputs: two statistics between the result and the sum are for training."""
    for index in (1, 2):
        if ctx.uses_output(index):
            ctx.refuse_extra_outputs(index)
    return [y, y, y, total]
