"""Attention and rotary embeddings as ONNX has them since opset 23."""

from __future__ import annotations

from math import inf

from spirloom.ir import Tensor
from spirloom.onnx.attending import Attending, Rotation, additive, from_heads, to_heads
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported


@converts("Attention")
def attention(ctx: NodeContext) -> list[Tensor]:
    query, key, value = (
        _headed(ctx, index, count)
        for index, count in enumerate(("q_num_heads", "kv_num_heads", "kv_num_heads"))
    )
    before = 0
    if ctx.optional(4) is not None:
        before = ctx.ranked(4, 4).shape[2]
        key = ctx.build.cat([ctx.tensor(4), key], 2)
        value = ctx.build.cat([ctx.ranked(5, 4), value], 2)
    if ctx.optional(6) is not None:
        raise Unsupported("its input 'nonpad_kv_seqlen' is not supported")
    attending = Attending(
        query,
        key,
        value,
        _mask(ctx, query, key.shape[2]),
        is_causal=bool(ctx.integer("is_causal", 0)),
        before=before,
        scale=ctx.number("scale", 0.0),
        cap=ctx.number("softcap", 0.0),
    )
    flat = len(ctx.tensor(0).shape) == 3
    if not ctx.uses_output(3):
        y = attending.run(ctx)
        return [from_heads(ctx, y) if flat else y, key, value]
    mode = ctx.integer("qk_matmul_output_mode", 0)
    if mode not in (0, 3):
        raise Unsupported(
            f"qk_matmul_output_mode {mode} means different things in different releases of ONNX; "
            "0 and 3 are supported"
        )
    products, weights, y = attending.spelled_out(ctx)
    return [from_heads(ctx, y) if flat else y, key, value, weights if mode else products]


def _headed(ctx: NodeContext, index: int, count: str) -> Tensor:
    x = ctx.ranked(index, 3)
    if len(x.shape) == 4:
        return x
    return to_heads(ctx, x, ctx.integer(count, 0))


def _mask(ctx: NodeContext, query: Tensor, keys: int) -> Tensor | None:
    """The mask as it is added; keys beyond it are not seen."""
    if ctx.optional(3) is None:
        return None
    mask = additive(ctx, ctx.ranked(3, 1), query.dtype)
    beyond = keys - mask.shape[-1]
    if beyond <= 0 or mask.shape[-1] == 1:
        return mask
    none = [0] * (len(mask.shape) - 1)
    return ctx.build.pad(mask, [*none, 0], [*none, beyond], -inf)


@converts("RotaryEmbedding")
def rotary_embedding(ctx: NodeContext) -> Tensor:
    rotation = Rotation(
        ctx.value(1),
        ctx.value(2),
        ctx.optional(3),
        interleaved=bool(ctx.integer("interleaved", 0)),
    )
    return turned(ctx, ctx.ranked(0, 3), rotation)


def turned(ctx: NodeContext, x: Tensor, rotation: Rotation) -> Tensor:
    """A tensor of heads, or one whose attribute `num_heads` says how it splits, turned."""
    if len(x.shape) == 4:
        return rotation.turn(ctx, x)
    heads = ctx.integer("num_heads", 0)
    return from_heads(ctx, rotation.turn(ctx, to_heads(ctx, x, heads)))
