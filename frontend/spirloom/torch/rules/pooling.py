"""Pooling: windows given by one number or several, with or without a batch."""

from __future__ import annotations

from spirloom.errors import Unsupported
from spirloom.torch.context import CallContext
from spirloom.torch.rules.table import Several, imports
from spirloom.torch.values import Item

_WINDOWS = [f"aten.{kind}_pool{rank}d" for kind in ("max", "avg") for rank in (1, 2, 3)]
_WITH_PLACES = [f"aten.max_pool{rank}d_with_indices" for rank in (1, 2, 3)]
_KINDS = ("adaptive_max", "adaptive_avg", "_adaptive_avg")
_ADAPTIVE = [f"aten.{kind}_pool{rank}d" for kind in _KINDS
             for rank in (1, 2, 3) if (kind, rank) != ("_adaptive_avg", 1)]  # fmt: skip


@imports(*_WINDOWS, *_WITH_PLACES)
def pool(ctx: CallContext) -> Item:
    """Of each window its greatest element, or the mean."""
    x = ctx.value("self")
    rank = _rank(ctx)
    batched = x if len(x.shape) == rank + 2 else ctx.reshaped(x, (1, *x.shape))
    kernel = ctx.integers("kernel_size")
    given: dict[str, object] = {
        "kernel_size": kernel,
        "stride": ctx.integers("stride") or kernel,
        "padding": ctx.integers("padding") or (0,),
        "ceil_mode": ctx.flag("ceil_mode"),
    }
    if "max" in ctx.target:
        given["dilation"] = ctx.integers("dilation") or (1,)
    else:
        given["count_include_pad"] = ctx.flag("count_include_pad", True)
        if ctx.has("divisor_override"):
            given["divisor_override"] = ctx.integer("divisor_override")
    results = ctx.applier.apply(ctx.target, {"x": batched, **given}, ctx.dtypes, ())
    return _several(ctx, results)


@imports(*_ADAPTIVE)
def adaptive(ctx: CallContext) -> Item:
    """Windows that share out the input."""
    x = ctx.value("self")
    rank = _rank(ctx)
    batched = x if len(x.shape) == rank + 2 else ctx.reshaped(x, (1, *x.shape))
    op = ctx.target
    if rank > 1 and "avg" in op and "_adaptive" not in op:
        op = op.replace("adaptive", "_adaptive")
    size = ctx.shape()[-rank:]
    results = ctx.applier.apply(op, {"x": batched, "output_size": size}, ctx.dtypes, ())
    return _several(ctx, results)


def _rank(ctx: CallContext) -> int:
    rank = int(ctx.target.partition("pool")[2][0])
    if len(ctx.value("self").shape) not in (rank + 1, rank + 2):
        raise Unsupported(f"{ctx.value('self')} is neither a batch nor an example")
    return rank


def _several(ctx: CallContext, results: tuple[Item, ...]) -> Item:
    return Several(ctx.reshaped(result, ctx.shape()) for result in results)
