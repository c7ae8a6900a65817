"""Matrix products."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.ir import DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported

# The types for which a product with a constant is a layer, which packs its weight.
_LAYERS = (DType.F32, DType.F16)


@converts("Gemm")
def gemm(ctx: NodeContext) -> Tensor:
    a, b, c = ctx.tensor(0), ctx.tensor(1), ctx.optional_tensor(2)
    alpha, beta = ctx.number("alpha", 1.0), ctx.number("beta", 1.0)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise Unsupported(f"its operands {a} and {b} are not matrices")
    whole = alpha.is_integer() and beta.is_integer()
    if a.dtype not in _LAYERS and not whole:
        raise Unsupported(f"its factors {alpha} and {beta} of whole numbers are not whole")
    if ctx.integer("transA", 0):
        a = ctx.build.permute(a, [1, 0])
    weighty = _is_weight(ctx, b) and (b.data is not None or ctx.number("alpha", 1.0) == 1)
    if not weighty or a.dtype not in _LAYERS:
        return _gemm_of_tensors(ctx, a, b, c)
    if not ctx.integer("transB", 0):
        b = ctx.build.permute(b, [1, 0])
    weight = b if alpha == 1 else _scaled(ctx, b, alpha)
    outputs = weight.shape[0]
    bias = None
    if c is not None and c.data is not None and c.shape in ((), (1,), (outputs,), (1, outputs)):
        row = np.broadcast_to(c.data.reshape(-1), (outputs,))
        bias = (
            c
            if beta == 1 and c.shape == (outputs,)
            else ctx.build.constant((row * beta).astype(c.dtype.numpy))
        )
        c = None
    y = ctx.build.emit("aten.linear", x=a, weight=weight, bias=bias)
    return _plus(ctx, y, c, beta)


def _is_weight(ctx: NodeContext, b: Tensor) -> bool:
    """Whether it is a constant, or dequantised of one."""
    made = ctx.build.makers.get(b)
    while made is not None and made.op == "aten.permute" and isinstance(made.args[0], Tensor):
        made = ctx.build.makers.get(made.args[0])
    return b.data is not None or (made is not None and made.op == "spirloom.dequantize")


def _gemm_of_tensors(ctx: NodeContext, a: Tensor, b: Tensor, c: Tensor | None) -> Tensor:
    if ctx.integer("transB", 0):
        b = ctx.build.permute(b, [1, 0])
    alpha, beta = ctx.number("alpha", 1.0), ctx.number("beta", 1.0)
    if c is not None:
        return ctx.build.emit("aten.addmm", c=c, a=a, b=b, alpha=alpha, beta=beta)
    y = ctx.build.emit("aten.mm", a=a, b=b)
    return y if alpha == 1 else ctx.build.mul(y, alpha)


def _scaled(ctx: NodeContext, x: Tensor, factor: float) -> Tensor:
    assert x.data is not None
    return ctx.build.constant((x.data * np.float64(factor)).astype(x.dtype.numpy))


def _plus(ctx: NodeContext, y: Tensor, c: Tensor | None, beta: float) -> Tensor:
    if c is None:
        return y
    return ctx.build.emit("aten.add.Tensor", a=y, b=c, alpha=beta)


@converts("MatMul")
def matmul(ctx: NodeContext) -> Tensor:
    return product(ctx, ctx.tensor(0), ctx.tensor(1))


def product(ctx: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """NumPy's a @ b."""
    if not a.shape or not b.shape or a.shape[-1] != b.shape[max(len(b.shape) - 2, 0)]:
        raise Unsupported(f"its operands {a} and {b} do not fit each other")
    left = ctx.build.view(a, [1, *a.shape]) if len(a.shape) == 1 else a
    right = ctx.build.view(b, [*b.shape, 1]) if len(b.shape) == 1 else b
    y = _product(ctx, left, right)
    shape = list(y.shape)
    if len(b.shape) == 1:
        shape.pop(-1)
    if len(a.shape) == 1:
        shape.pop(-1 if len(b.shape) == 1 else -2)
    return ctx.build.view(y, shape)


def _product(ctx: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """The product of two tensors of at least rank 2, batch dimensions broadcast."""
    if len(b.shape) == 2:
        if _is_weight(ctx, b) and a.dtype in _LAYERS:
            return ctx.build.emit("aten.linear", x=a, weight=ctx.build.permute(b, [1, 0]))
        rows = ctx.build.view(a, [prod(a.shape[:-1]), a.shape[-1]])
        y = ctx.build.emit("aten.mm", a=rows, b=b)
        return ctx.build.view(y, [*a.shape[:-1], b.shape[1]])
    batch = a.shape[:-2]
    if batch != b.shape[:-2]:
        return ctx.build.emit("aten.matmul", a=a, b=b)
    left, right = (ctx.build.view(x, [prod(batch), *x.shape[-2:]]) for x in (a, b))
    y = ctx.build.emit("aten.bmm", a=left, b=right)
    return ctx.build.view(y, [*batch, a.shape[-2], b.shape[-1]])
