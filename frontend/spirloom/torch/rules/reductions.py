"""Import rules of reductions, over some or all dimensions."""

from __future__ import annotations

from math import prod

from spirloom.builder import Value
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import Results, imports
from spirloom.torch.values import Item

_ALL = {
    "aten.mean": "aten.mean.dim",
    "aten.sum": "aten.sum.dim_IntList",
    "aten.max": "aten.amax",
    "aten.min": "aten.amin",
    "aten.any": "aten.any.dims",
    "aten.all": "aten.all.dims",
    "aten.prod": "aten.prod.dim_int",
    "aten.mean.dim": "aten.mean.dim",
    "aten.sum.dim_IntList": "aten.sum.dim_IntList",
    "aten.amax": "aten.amax",
    "aten.amin": "aten.amin",
    "aten.any.dims": "aten.any.dims",
    "aten.all.dims": "aten.all.dims",
    "aten.any.dim": "aten.any.dims",
    "aten.all.dim": "aten.all.dims",
    "aten._is_any_true": "aten.any.dims",
    "aten._is_all_true": "aten.all.dims",
    "aten.prod.dim_int": "aten.prod.dim_int",
    "aten.nansum": "aten.nansum",
    "aten.count_nonzero": "aten.count_nonzero.dim_IntList",
    "aten.count_nonzero.dim_IntList": "aten.count_nonzero.dim_IntList",
    "aten.logsumexp": "aten.logsumexp",
}


@imports(*_ALL)
def reduced(ctx: CallContext) -> Item:
    """Reduction over `dim`; empty: all dimensions."""
    x = _input(ctx)
    if not x.shape:  # the operators require at least one dimension
        x = ctx.view(x, (1,))
    return _reduce(ctx, _ALL[ctx.target], x)


def _reduce(ctx: CallContext, op: str, x: Value, **args: object) -> Value:
    """A reduction over `dim`, or all dimensions if it is empty."""
    dims = ctx.integers("dim") or tuple(range(len(x.shape)))
    found = ctx.typed(op, x=x, dim=dims, keepdim=ctx.flag("keepdim"), **args)
    return ctx.view(found, ctx.shape())


def _input(ctx: CallContext) -> Value:
    """The input, cast to the call's `dtype` if given."""
    x = ctx.value("self")
    dtype = ctx.dtype()
    return x if dtype is None else ctx.cast(x, dtype)


@imports("aten.var", "aten.var.dim", "aten.var.correction", "aten.std", "aten.std.dim",
         "aten.std.correction")  # fmt: skip
def variance(ctx: CallContext) -> Item:
    """Variance or standard deviation."""
    return _variance(ctx, f"{'.'.join(ctx.target.split('.')[:2])}.correction")


def _variance(ctx: CallContext, op: str) -> Value:
    correction = ctx.number("correction", float(ctx.flag("unbiased", True)))
    return _reduce(ctx, op, ctx.value("self"), correction=float(correction))


@imports("aten.var_mean", "aten.var_mean.dim", "aten.var_mean.correction")
def var_mean(ctx: CallContext) -> Item:
    """Variance and mean."""
    var = _variance(ctx, "aten.var.correction")
    return Results((var, _reduce(ctx, "aten.mean.dim", ctx.value("self"))))


@imports("aten.argmax", "aten.argmin")
def arg_extremum(ctx: CallContext) -> Item:
    """Index of the extremum along `dim`; without `dim`, over the flattened tensor."""
    x = ctx.value("self")
    dim, keep = ctx.args.get("dim"), ctx.flag("keepdim")
    if dim is None:
        x, dim, keep = ctx.view(x, (prod(x.shape),)), 0, False
    return ctx.view(ctx.typed(ctx.target, x=x, dim=dim, keepdim=keep), ctx.shape())


@imports("aten.linalg_vector_norm", "aten.norm.ScalarOpt_dim", "aten.norm.Scalar")
def norm(ctx: CallContext) -> Item:
    """Vector norm over `dim`; empty: all dimensions."""
    order = ctx.number("ord", ctx.number("p", 2))
    return _reduce(ctx, "aten.linalg_vector_norm", _input(ctx), ord=float(order))


@imports("aten.max.dim", "aten.min.dim")
def extremum(ctx: CallContext) -> Item:
    """The extremum along a dimension, and its index."""
    x = ctx.value("self")
    dim = ctx.axis("dim", len(x.shape))
    return Results(ctx.apply_all(ctx.target, x=x, dim=dim, keepdim=ctx.flag("keepdim")))
