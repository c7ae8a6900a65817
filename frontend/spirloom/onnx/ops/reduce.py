"""Reductions, and other operators along dimensions."""

from __future__ import annotations

from math import inf, prod

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts

_PLAIN = {
    "ReduceMax": "aten.amax",
    "ReduceMean": "aten.mean.dim",
    "ReduceMin": "aten.amin",
    "ReduceProd": "aten.prod.dim_int",
    "ReduceSum": "aten.sum.dim_IntList",
}
# Of an empty dimension.
_OF_NOTHING = {"ReduceMax": -inf, "ReduceMin": inf}


@converts(*_PLAIN)
def plain(ctx: NodeContext) -> Value:
    x = ctx.tensor(0)
    if ctx.op_type == "ReduceMean" and not x.dtype.is_float:
        return _integer_mean(ctx, x)
    if ctx.op_type in _OF_NOTHING and x.dtype.is_float:
        dims, keepdim = _dims(ctx, x), bool(ctx.integer("keepdims", 1))
        if not all(x.shape[d] for d in dims):
            sizes = [
                1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims
            ]
            ctx.check_size(sizes, x.dtype.numpy.itemsize)
            return np.full(sizes, _OF_NOTHING[ctx.op_type], x.dtype.numpy)
    return _reduce(ctx, _PLAIN[ctx.op_type], x)


def _integer_mean(ctx: NodeContext, x: Tensor) -> Tensor:
    """The sum divided by the count, rounded toward zero."""
    count = prod(x.shape[d] for d in _dims(ctx, x))
    if not count:
        raise Unsupported(f"the mean of no element of {x} is undefined")
    total = _reduce(ctx, "aten.sum.dim_IntList", x)
    divisor = ctx.build.scalar(count, total.dtype)
    return ctx.build.emit("aten.div.Tensor_mode", a=total, b=divisor, rounding_mode="trunc")


@converts("ReduceL1", "ReduceL2")
def norm(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    dims, keepdim = _dims(ctx, x), bool(ctx.integer("keepdims", 1))
    if not dims:
        return ctx.build.emit("aten.abs", x=x)
    order = 1.0 if ctx.op_type == "ReduceL1" else 2.0
    return ctx.build.emit("aten.linalg_vector_norm", x=x, dim=dims, keepdim=keepdim, ord=order)


@converts("ReduceSumSquare")
def squares(ctx: NodeContext) -> Tensor:
    return _reduce(ctx, "aten.sum.dim_IntList", ctx.build.emit("aten.square", x=ctx.tensor(0)))


@converts("ReduceLogSum")
def log_sum(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.log", x=_reduce(ctx, "aten.sum.dim_IntList", ctx.tensor(0)))


@converts("ReduceLogSumExp")
def log_sum_exp(ctx: NodeContext) -> Tensor:
    return _reduce(ctx, "aten.logsumexp", ctx.tensor(0))


@converts("ArgMax", "ArgMin")
def arg(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    op = "aten.argmax" if ctx.op_type == "ArgMax" else "aten.argmin"
    dim = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    keepdim = bool(ctx.integer("keepdims", 1))
    if not ctx.integer("select_last_index", 0):
        return ctx.build.emit(op, x=x, dim=dim, keepdim=keepdim)
    flipped = ctx.build.emit("aten.flip", x=x, dims=(dim,))
    index = ctx.build.emit(op, x=flipped, dim=dim, keepdim=keepdim)
    last = ctx.build.scalar(x.shape[dim] - 1, DType.I32)
    return ctx.build.emit("aten.sub.Tensor", a=last, b=index)


@converts("CumSum", "CumProd")
def cumulative(ctx: NodeContext) -> Tensor:
    """The cumulative sum or product. With `exclusive`, without the element itself."""
    x, op, start = ctx.tensor(0), "aten.cumsum", 0.0
    if ctx.op_type == "CumProd":
        op, start = "aten.cumprod", 1.0
    axis = ctx.constant_ints(1)
    if axis is None or len(axis) != 1:
        raise Unsupported("its axis must be a constant scalar")
    dim = ctx.axis(axis[0], len(x.shape))
    reverse = bool(ctx.integer("reverse", 0))
    along = ctx.build.emit("aten.flip", x=x, dims=(dim,)) if reverse else x
    if ctx.integer("exclusive", 0):  # shifted by one element, which loses no digits
        before = [int(d == dim) for d in range(len(x.shape))]
        along = ctx.build.pad(along, before, [-n for n in before], start)
    total = ctx.build.emit(op, x=along, dim=dim)
    return ctx.build.emit("aten.flip", x=total, dims=(dim,)) if reverse else total


@converts("Trilu")
def trilu(ctx: NodeContext) -> Tensor:
    k = ctx.constant_ints(1)
    op = "aten.triu" if ctx.integer("upper", 1) else "aten.tril"
    return ctx.build.emit(op, x=ctx.tensor(0), diagonal=k[0] if k else 0)


def _reduce(ctx: NodeContext, op: str, x: Tensor) -> Tensor:
    dims = _dims(ctx, x)
    return ctx.build.reduce(op, x, dims, bool(ctx.integer("keepdims", 1)))


def _dims(ctx: NodeContext, x: Tensor) -> list[int]:
    """The dims to reduce. Empty for a no-op."""
    axes, noop = ctx.axes_argument(), ctx.integer("noop_with_empty_axes", 0)
    if axes:
        return ctx.axes(axes, len(x.shape))
    return [] if noop else list(range(len(x.shape)))
