"""Import rules of scaled dot-product attention."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.builder import Value
from spirloom.errors import InTrainingMode, Unsupported
from spirloom.sizes import broadcast_shapes, is_symbolic
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import imports
from spirloom.torch.values import Item


@imports("aten.scaled_dot_product_attention")
def attention(ctx: CallContext) -> Item:
    """Attention; grouped-query attention needs no flag. A boolean mask becomes an additive one."""
    if ctx.number("dropout_p", 0) > 0:
        raise InTrainingMode("generates random values")
    query, key, value = _operands(ctx)
    mask: Item = ctx.args.get("attn_mask")
    if mask is not None:
        mask = _additive_mask(ctx, mask)
        if len(mask.shape) > 4 or len(ctx.value("query").shape) > 4:
            mask = _merged_mask(ctx, mask, query.shape[0] if len(query.shape) == 4 else 1)
    found = ctx.typed(
        ctx.target, query=query, key=key, value=value, attn_mask=mask,
        is_causal=ctx.flag("is_causal"), scale=ctx.number("scale", 0.0),
    )  # fmt: skip
    return ctx.view(found, ctx.shape())


def _operands(ctx: CallContext) -> list[Value]:
    """Query, key and value of rank 3 or 4: broadcast dimensions expanded, leading ones merged."""
    given = [ctx.value(n) for n in ("query", "key", "value")]
    ranks = [len(x.shape) for x in given]
    if min(ranks) < 2:
        raise Unsupported(f"its operands have the ranks {ranks}; expected at least 2")
    outer = _broadcast([x.shape[:-3] for x in given])
    heads = _heads(ctx, [x.shape[-3] if len(x.shape) > 2 else 1 for x in given])
    operands = []
    for x, own_heads in zip(given, heads, strict=True):
        wanted = (*outer, own_heads, *x.shape[-2:])
        if len(x.shape) < len(wanted):
            x = ctx.view(x, (*(1,) * (len(wanted) - len(x.shape)), *x.shape))
        if x.shape != wanted:
            x = _expanded(ctx, x, wanted)
        operands.append(ctx.view(x, (prod(outer), *wanted[-3:])) if len(outer) > 1 else x)
    return operands


def _heads(ctx: CallContext, counts: list[int]) -> list[int]:
    """The numbers of heads of query, key and value. Those of key and value are equal, and divide
    that of the query; PyTorch broadcasts others."""
    query, key, value = counts
    if key == value and key > 0 and query % key == 0:
        return counts
    if ctx.flag("enable_gqa"):
        raise Unsupported(f"its query, key and value have {counts} heads")
    (common,) = _broadcast([(count,) for count in counts])
    return [common] * 3


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return broadcast_shapes(*shapes)
    except Unsupported:
        listed = [list(shape) for shape in shapes]
        raise Unsupported(f"its dimensions {listed} do not match") from None


def _expanded(ctx: CallContext, x: Value, shape: tuple[int, ...]) -> Value:
    if isinstance(x, np.ndarray) and not is_symbolic(shape):
        ctx.build.budget.check(shape, x.itemsize)
        return np.broadcast_to(x, shape)
    return ctx.inner("aten.expand", x, shape)


def _merged_mask(ctx: CallContext, mask: Value, batch: int) -> Value:
    """The mask of a query of rank 5 or more, whose leading dimensions are merged to `batch`."""
    outer = broadcast_shapes(ctx.value("query").shape[:-3], mask.shape[:-3], ctx.shape()[:-3])
    mask = ctx.view(mask, (*(1,) * (len(outer) + 3 - len(mask.shape)), *mask.shape))
    inner = mask.shape[len(outer) :]
    if prod(mask.shape[: len(outer)]) == 1:
        return ctx.view(mask, (1, *inner))
    return ctx.view(_expanded(ctx, mask, (*outer, *inner)), (batch, *inner))


def _additive_mask(ctx: CallContext, mask: Value) -> Value:
    """The additive mask of a boolean one: 0 where attention is allowed, otherwise -inf."""
    if isinstance(mask, np.ndarray):
        if mask.dtype == np.bool_:
            mask = np.where(mask, 0, -np.inf)
        return mask.astype(ctx.out_dtype())
    if str(mask.dtype) != "b8":
        return ctx.cast(mask, ctx.out_dtype())
    zero, minus_inf = (ctx.filled(v, ()) for v in (0, -np.inf))
    return ctx.typed("aten.where.self", condition=mask, a=zero, b=minus_inf)
