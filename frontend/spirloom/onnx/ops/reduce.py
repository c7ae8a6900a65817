"""Reductions."""

from __future__ import annotations

from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import converts

_PLAIN = {
    "ReduceMax": "aten.amax",
    "ReduceMean": "aten.mean.dim",
    "ReduceMin": "aten.amin",
    "ReduceProd": "aten.prod.dim_int",
    "ReduceSum": "aten.sum.dim_IntList",
}


@converts(*_PLAIN)
def plain(ctx: NodeContext) -> Tensor:
    return _reduce(ctx, _PLAIN[ctx.op_type], ctx.tensor(0))


@converts("ReduceL1")
def l1(ctx: NodeContext) -> Tensor:
    return _reduce(ctx, "aten.sum.dim_IntList", ctx.build.emit("aten.abs", x=ctx.tensor(0)))


@converts("ReduceSumSquare", "ReduceL2")
def squares(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    total = _reduce(ctx, "aten.sum.dim_IntList", ctx.build.mul(x, x))
    return ctx.build.emit("aten.sqrt", x=total) if ctx.op_type == "ReduceL2" else total


@converts("ReduceLogSum")
def log_sum(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.log", x=_reduce(ctx, "aten.sum.dim_IntList", ctx.tensor(0)))


@converts("ReduceLogSumExp")
def log_sum_exp(ctx: NodeContext) -> Tensor:
    """The largest element is taken out first, so that exp cannot overflow."""
    x = ctx.tensor(0)
    dims = _dims(ctx, x)
    if not dims:
        return x
    top = ctx.build.reduce("aten.amax", x, dims)
    shifted = ctx.build.emit("aten.exp", x=ctx.build.emit("aten.sub.Tensor", a=x, b=top))
    total = ctx.build.reduce("aten.sum.dim_IntList", shifted, dims)
    result = ctx.build.add(ctx.build.emit("aten.log", x=total), top)
    if ctx.integer("keepdims", 1):
        return result
    return ctx.build.view(result, [d for i, d in enumerate(x.shape) if i not in dims])


def _reduce(ctx: NodeContext, op: str, x: Tensor) -> Tensor:
    dims = _dims(ctx, x)
    return ctx.build.reduce(op, x, dims, bool(ctx.integer("keepdims", 1))) if dims else x


def _dims(ctx: NodeContext, x: Tensor) -> list[int]:
    """The dims to reduce; none where there is nothing to do."""
    axes = ctx.axes_argument()
    if axes:
        return ctx.axes(axes, len(x.shape))
    return [] if ctx.integer("noop_with_empty_axes", 0) else list(range(len(x.shape)))
