"""Attention and rotary embeddings: ONNX opset 23 to 25 and ONNX Runtime (com.microsoft)."""

from __future__ import annotations

from math import inf

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import DType, Tensor
from spirloom.onnx.attention_builder import (
    Attention,
    RotaryEmbedding,
    additive_mask,
    from_heads,
    to_heads,
)
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts


@converts("Attention")
def attention(ctx: NodeContext) -> list[Tensor]:
    query, key, value = (
        _to_heads(ctx, index, count)
        for index, count in enumerate(("q_num_heads", "kv_num_heads", "kv_num_heads"))
    )
    past_length = 0
    if ctx.optional(4) is not None:
        past_length = ctx.ranked(4, 4).shape[2]
        key = ctx.build.cat([ctx.tensor(4), key], 2)
        value = ctx.build.cat([ctx.ranked(5, 4), value], 2)
    lengths = ctx.optional_tensor(6)
    if lengths is not None and (past_length or lengths.shape != query.shape[:1]):
        raise Unsupported(
            f"its nonpad_kv_seqlen {lengths} does not fit batch {query.shape[0]}, or past_key is "
            "given too"
        )
    call = Attention(
        query,
        key,
        value,
        _mask(ctx, query, key.shape[2]),
        is_causal=bool(ctx.integer("is_causal", 0)),
        past_length=past_length,
        scale=ctx.number("scale", 0.0),
        softcap=ctx.number("softcap", 0.0),
        key_lengths=lengths,
        window=(ctx.integer("left_window_size", -1), ctx.integer("right_window_size", -1)),
    )
    flat, mode = len(ctx.tensor(0).shape) == 3, ctx.integer("qk_matmul_output_mode", 0)
    if not ctx.uses_output(3):
        y = call.emit(ctx)
        return [from_heads(ctx, y) if flat else y, key, value]
    if mode not in (0, 3):
        raise Unsupported(
            f"qk_matmul_output_mode {mode} depends on the release of ONNX; 0 and 3 are supported"
        )
    products, weights, y = call.emit_decomposed(ctx)
    return [from_heads(ctx, y) if flat else y, key, value, weights if mode else products]


def _to_heads(ctx: NodeContext, index: int, count: str) -> Tensor:
    x, heads = ctx.ranked(index, 3), ctx.integer(count, 0)
    return x if len(x.shape) == 4 else to_heads(ctx, x, heads)


def _mask(ctx: NodeContext, query: Tensor, keys: int) -> Tensor | None:
    """The additive mask. Keys after its end are masked."""
    if ctx.optional(3) is None:
        return None
    mask = additive_mask(ctx, ctx.ranked(3, 1), query.dtype)
    missing = keys - mask.shape[-1]
    if missing <= 0 or mask.shape[-1] == 1:
        return mask
    none = [0] * (len(mask.shape) - 1)
    return ctx.build.pad(mask, [*none, 0], [*none, missing], -inf)


@converts("RotaryEmbedding")
def rotary_embedding(ctx: NodeContext) -> Tensor:
    rotary = RotaryEmbedding(
        ctx.value(1),
        ctx.value(2),
        ctx.optional(3),
        interleaved=bool(ctx.integer("interleaved", 0)),
    )
    return _rotated(ctx, ctx.ranked(0, 3), rotary)


def _rotated(ctx: NodeContext, x: Tensor, rotary: RotaryEmbedding) -> Tensor:
    """RoPE of a tensor by heads, or of one that the attribute `num_heads` splits into heads."""
    heads, angles = ctx.integer("num_heads", 0), 2 * rotary.cos.shape[-1]
    if ctx.integer("rotary_embedding_dim", 0) not in (0, angles):
        raise Unsupported(f"its rotary_embedding_dim is not {angles}, the size of its angles")
    if len(x.shape) == 4:
        return rotary.apply(ctx, x)
    return from_heads(ctx, rotary.apply(ctx, to_heads(ctx, x, heads)))


@converts("com.microsoft.RotaryEmbedding")
def contrib_rotary_embedding(ctx: NodeContext) -> Tensor:
    x = ctx.ranked(0, 3)
    if ctx.integer("is_packed_batching", 0) or ctx.number("scale", 1.0) != 1:
        raise Unsupported("packed batches and a scale are not supported")
    length = x.shape[2] if len(x.shape) == 4 else x.shape[1]
    positions = _positions(ctx, ctx.value(1), length)
    rotary = RotaryEmbedding(
        ctx.value(2), ctx.value(3), positions, interleaved=bool(ctx.integer("interleaved", 0))
    )
    if len(x.shape) == 3 and not ctx.integer("num_heads", 0):
        size = 2 * ctx.value(2).shape[1]
        heads = to_heads(ctx, x, max(x.shape[2] // size, 1))
        return from_heads(ctx, rotary.apply(ctx, heads))
    return _rotated(ctx, x, rotary)


def _positions(ctx: NodeContext, given: Value, length: int) -> Value:
    """Positions of each batch. A single value is the first position."""
    if len(given.shape) == 2:
        return given
    if given.shape != (1,):
        raise Unsupported(f"positions of the shape {list(given.shape)} are not supported")
    offsets = np.arange(length, dtype=np.int32)
    if not isinstance(given, Tensor):
        return given.astype(np.int64) + offsets
    return ctx.build.add(given, ctx.build.constant(offsets))


@converts("com.microsoft.MultiHeadAttention")
def multi_head_attention(ctx: NodeContext) -> list[Tensor]:
    heads = ctx.integer("num_heads", 0)
    if ctx.optional(1) is None or ctx.optional(2) is None:
        raise Unsupported("packed query, key and value are not supported")
    query, key, value = (_contrib_heads(ctx, i, heads) for i in range(3))
    past_length = 0
    if _is_nonempty(ctx, 6):
        past_length = ctx.tensor(6).shape[2]
        key = ctx.build.cat([ctx.tensor(6), key], 2)
        value = ctx.build.cat([ctx.ranked(7, 4), value], 2)
    ctx.refuse_extra_outputs(3)
    y = Attention(
        query,
        key,
        value,
        _contrib_mask(ctx, query, key),
        is_causal=bool(ctx.integer("unidirectional", 0)),
        past_length=past_length,
        scale=ctx.number("scale", 0.0),
    ).emit(ctx)
    return [from_heads(ctx, y), key, value]


def _contrib_heads(ctx: NodeContext, index: int, heads: int) -> Tensor:
    """Query, key or value by heads, with its part of the bias added."""
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
    """The additive mask: input 5 plus, where input 4 is 0, `mask_filter_value`."""
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
    mask = additive_mask(ctx, padding, query.dtype, ctx.number("mask_filter_value", -10000.0))
    return mask if bias is None else ctx.build.add(bias, mask)


@converts("com.microsoft.GroupQueryAttention")
def group_query_attention(ctx: NodeContext) -> list[Tensor]:
    """Causal attention over a complete prompt.

    `seqlens_k` only marks padding of shorter prompts, whose results are unspecified.
    """
    _refuse_decoding(ctx)
    query, key, value = _grouped(ctx)
    if ctx.integer("do_rotary", 0):
        rotary = _rotary(ctx, query.shape[2])
        query, key = rotary.apply(ctx, query), rotary.apply(ctx, key)
    y = Attention(
        query,
        key,
        value,
        ctx.optional_tensor(10),
        is_causal=True,
        scale=ctx.number("scale", 0.0),
        softcap=ctx.number("softcap", 0.0),
    ).emit(ctx)
    return [from_heads(ctx, y), key, value]


def _refuse_decoding(ctx: NodeContext) -> None:
    if _is_nonempty(ctx, 3) or _is_nonempty(ctx, 4):
        raise Unsupported(
            "a cache (past_key, past_value) is not supported. Import the model with a past length "
            "of 0"
        )
    if ctx.integer("local_window_size", -1) != -1 or ctx.integer("smooth_softmax", 0):
        raise Unsupported("local_window_size and smooth_softmax are not supported")
    if any(ctx.optional(index) is not None for index in range(11, len(ctx.inputs))):
        raise Unsupported("attention sinks and quantized caches are not supported")
    ctx.refuse_extra_outputs(3)


def _is_nonempty(ctx: NodeContext, index: int) -> bool:
    """Whether the node has a cache with one or more positions."""
    past = ctx.optional(index)
    return past is not None and 0 not in past.shape


def _grouped(ctx: NodeContext) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value by heads. Input 0 may contain all three."""
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


def _rotary(ctx: NodeContext, length: int) -> RotaryEmbedding:
    """RoPE at the model's positions, by default 0, 1 …"""
    given = ctx.optional(9)
    positions = np.arange(length) if given is None else given
    interleaved = bool(ctx.integer("rotary_interleaved", 0))
    return RotaryEmbedding(ctx.value(7), ctx.value(8), positions, interleaved)
