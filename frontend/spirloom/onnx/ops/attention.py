"""Attention and rotary embeddings: ONNX opset 23 and ONNX Runtime (com.microsoft)."""

from __future__ import annotations

from math import inf

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import DType, Tensor
from spirloom.onnx.attention_builder import Attending, Rotation, additive, from_heads, to_heads
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts


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
    products, weights, y = attending.decomposed(ctx)
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


@converts("com.microsoft.RotaryEmbedding")
def contrib_rotary_embedding(ctx: NodeContext) -> Tensor:
    x = ctx.ranked(0, 3)
    if ctx.integer("is_packed_batching", 0) or ctx.number("scale", 1.0) != 1:
        raise Unsupported("packed batches and a scale are not supported")
    length = x.shape[2] if len(x.shape) == 4 else x.shape[1]
    positions = _positions(ctx, ctx.value(1), length)
    rotation = Rotation(
        ctx.value(2), ctx.value(3), positions, interleaved=bool(ctx.integer("interleaved", 0))
    )
    if len(x.shape) == 3 and not ctx.integer("num_heads", 0):
        size = 2 * ctx.value(2).shape[1]
        heads = to_heads(ctx, x, max(x.shape[2] // size, 1))
        return from_heads(ctx, rotation.turn(ctx, heads))
    return turned(ctx, x, rotation)


def _positions(ctx: NodeContext, given: Value, length: int) -> Value:
    """Positions for each batch; one number is that of the first, the others follow."""
    if len(given.shape) == 2:
        return given
    if given.shape != (1,):
        raise Unsupported(f"positions of the shape {list(given.shape)} are not supported")
    steps = np.arange(length, dtype=np.int32)
    if not isinstance(given, Tensor):
        return given.astype(np.int64) + steps
    return ctx.build.add(given, ctx.build.constant(steps))


@converts("com.microsoft.MultiHeadAttention")
def multi_head_attention(ctx: NodeContext) -> list[Tensor]:
    heads = ctx.integer("num_heads", 0)
    if ctx.optional(1) is None or ctx.optional(2) is None:
        raise Unsupported("query, key and value in one input are not supported")
    query, key, value = (_contrib_headed(ctx, i, heads) for i in range(3))
    before = 0
    if _filled(ctx, 6):
        before = ctx.tensor(6).shape[2]
        key = ctx.build.cat([ctx.tensor(6), key], 2)
        value = ctx.build.cat([ctx.ranked(7, 4), value], 2)
    ctx.refuse_extra_outputs(3)
    y = Attending(
        query,
        key,
        value,
        _contrib_mask(ctx, query, key),
        is_causal=bool(ctx.integer("unidirectional", 0)),
        before=before,
        scale=ctx.number("scale", 0.0),
    ).run(ctx)
    return [from_heads(ctx, y), key, value]


def _contrib_headed(ctx: NodeContext, index: int, heads: int) -> Tensor:
    """Query, key or value with its part of the bias, by heads."""
    x = ctx.ranked(index, 3)
    if len(x.shape) == 4:
        return x
    if len(x.shape) != 3:
        raise Unsupported("packed keys and values are not supported")
    bias = ctx.optional_tensor(3)
    if bias is not None:
        start = sum(ctx.value(i).shape[-1] for i in range(index))
        x = ctx.build.add(x, ctx.build.slice(bias, 0, start, start + x.shape[2]))
    return to_heads(ctx, x, heads)


def _contrib_mask(ctx: NodeContext, query: Tensor, key: Tensor) -> Tensor | None:
    """What is added to the scores: input 5, and where input 4 is 0 the mask's filter."""
    bias, padding = ctx.optional_tensor(5), ctx.optional_tensor(4)
    if padding is None:
        return bias
    batch, keys = query.shape[0], key.shape[2]
    if padding.shape not in ((batch, keys), (batch, query.shape[2], keys)):
        raise Unsupported(f"a key_padding_mask {padding} is not supported; [batch, keys] is")
    if padding.dtype is not DType.B8:
        zero = ctx.build.scalar(0, padding.dtype)
        padding = ctx.build.emit("aten.ne.Tensor", a=padding, b=zero)
    queries = padding.shape[1] if len(padding.shape) == 3 else 1
    padding = ctx.build.view(padding, [batch, 1, queries, keys])
    hidden = additive(ctx, padding, query.dtype, ctx.number("mask_filter_value", -10000.0))
    return hidden if bias is None else ctx.build.add(bias, hidden)


@converts("com.microsoft.GroupQueryAttention")
def group_query_attention(ctx: NodeContext) -> list[Tensor]:
    """The prompt, all of it at once: causality alone says what each query sees.

    `seqlens_k` only tells the rows that pad shorter prompts, whose results mean nothing.
    """
    _refuse_decoding(ctx)
    query, key, value = _grouped(ctx)
    if ctx.integer("do_rotary", 0):
        rotation = _rotation(ctx, query.shape[2])
        query, key = rotation.turn(ctx, query), rotation.turn(ctx, key)
    y = Attending(
        query,
        key,
        value,
        ctx.optional_tensor(10),
        is_causal=True,
        scale=ctx.number("scale", 0.0),
        cap=ctx.number("softcap", 0.0),
    ).run(ctx)
    return [from_heads(ctx, y), key, value]


def _refuse_decoding(ctx: NodeContext) -> None:
    if _filled(ctx, 3) or _filled(ctx, 4):
        raise Unsupported(
            "a cache (past_key, past_value) is not supported; import the model for prompts, with a "
            "past length of 0"
        )
    if ctx.integer("local_window_size", -1) != -1 or ctx.integer("smooth_softmax", 0):
        raise Unsupported("a local window and a smooth softmax are not supported")
    if any(ctx.optional(index) is not None for index in range(11, len(ctx.inputs))):
        raise Unsupported("sinks and quantised caches are not supported")
    ctx.refuse_extra_outputs(3)


def _filled(ctx: NodeContext, index: int) -> bool:
    """Whether there is a cache of at least one position."""
    past = ctx.optional(index)
    return past is not None and 0 not in past.shape


def _grouped(ctx: NodeContext) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value by heads, also where input 0 holds all three."""
    heads, shared = ctx.integer("num_heads", 0), ctx.integer("kv_num_heads", 0)
    query = ctx.ranked(0, 3)
    counts = heads, shared, shared
    if ctx.optional(1) is not None:
        parts = [query, ctx.ranked(1, 3), ctx.ranked(2, 3)]
    else:
        size = query.shape[2] // max(sum(counts), 1)
        ends = heads * size, (heads + shared) * size, query.shape[2]
        starts = 0, *ends[:2]
        parts = [ctx.build.slice(query, 2, *ends_of) for ends_of in zip(starts, ends, strict=True)]
    q, k, v = (to_heads(ctx, x, count) for x, count in zip(parts, counts, strict=True))
    return q, k, v


def _rotation(ctx: NodeContext, length: int) -> Rotation:
    """That of positions 0, 1 …, unless the model gives them."""
    given = ctx.optional(9)
    positions = np.arange(length) if given is None else given
    interleaved = bool(ctx.integer("rotary_interleaved", 0))
    return Rotation(ctx.value(7), ctx.value(8), positions, interleaved)
