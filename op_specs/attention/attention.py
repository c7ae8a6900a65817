"""Attention, decomposed into matmul, masking and softmax; RoPE; KV caches."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..indexing.indexing import cache_update
from ..normalization.normalization import rms_norm
from ..reduction.reduction import safe_softmax

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Stored = NDArray[Any]  # a KV cache: float64 values, or the int64 bytes of quantized rows


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    dropout_p: float,
    is_causal: bool,
    scale: float,
) -> Array:
    """softmax(query · keyᵀ · scale + mask) · value; GQA repeats the KV heads."""
    if query.size == 0:
        return np.zeros((*query.shape[:-1], value.shape[-1]))
    gqa_group = query.shape[-3] // key.shape[-3]
    key, value = (np.repeat(v, gqa_group, axis=-3) for v in (key, value))
    scores = query @ key.swapaxes(-1, -2) * (scale or 1 / np.sqrt(query.shape[-1]))
    if attn_mask is not None:
        scores = scores + attn_mask
    if is_causal:
        visible = np.tri(scores.shape[-2], scores.shape[-1], dtype=np.bool_)
        scores = np.where(visible, scores, -np.inf)
    return np.asarray(safe_softmax(scores, -1) @ value)


def _strided_rows(x: Array, outer: list[int], size: int, strides: list[int]) -> Array:
    """Contiguous rows [*outer, size] of x; `strides`: [offset, stride of each outer dim]."""
    first, *outer_strides = strides
    offsets = sum(s * i for s, i in zip(outer_strides, np.indices(outer), strict=True))
    return np.asarray(x.reshape(-1)[(first + np.asarray(offsets))[..., None] + np.arange(size)])


def strided_attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    batches: int,
    heads: int,
    kv_heads: int,
    queries: int,
    keys: int,
    depth: int,
    width: int,
    query_strides: list[int],
    key_strides: list[int],
    value_strides: list[int],
    order: list[int],
    is_causal: bool,
    scale: float,
) -> Array:
    """Attention of strided rows; `order` permutes batch, head and row of the result."""
    y = scaled_dot_product_attention(
        _strided_rows(query, [batches, heads, queries], depth, query_strides),
        _strided_rows(key, [batches, kv_heads, keys], depth, key_strides),
        _strided_rows(value, [batches, kv_heads, keys], width, value_strides),
        attn_mask,
        0.0,
        is_causal,
        scale,
    )
    return y.transpose(*order, 3)


def rotary_embedding(x: Array, cos: Array, sin: Array, interleaved: bool) -> Array:
    """Rotates pairs of elements: multiplies them, as complex numbers, by cos + i sin."""
    first, second = (x[..., ::2], x[..., 1::2]) if interleaved else np.split(x, 2, axis=-1)
    rotated = (first + 1j * second) * (cos + 1j * sin)
    if interleaved:
        pairs = np.stack([rotated.real, rotated.imag], axis=-1)
        return np.asarray(pairs.reshape(x.shape))
    return np.asarray(np.concatenate([rotated.real, rotated.imag], axis=-1))


def _row_positions(positions: Indices, count: int) -> Indices:
    """One position per row; a single position is that of the first of consecutive rows."""
    return np.asarray(positions if len(positions) == count else positions[0] + np.arange(count))


def rotary_at_positions(
    x: Array, cos: Array, sin: Array, positions: Indices, dim: int, interleaved: bool
) -> Array:
    """RoPE along `dim`, with the rows of the cos and sin tables at the positions."""
    x = np.moveaxis(x, dim, -2)
    at = np.clip(_row_positions(positions, x.shape[-2]), 0, len(cos) - 1)
    return np.moveaxis(rotary_embedding(x, cos[at], sin[at], interleaved), -2, dim)


def _row_scales(depth: int) -> int:
    """Scales of a row of a quantized KV cache: one per 64 columns."""
    return -(-depth // 64)


def _max_code(cache: Stored, depth: int) -> int:
    """127 for caches of int8, 7 for int4 and 0 for floats."""
    if cache.dtype.kind == "f":
        return 0
    return 127 if cache.shape[-1] > depth else 7


def dequantized(cache: Stored, depth: int) -> Array:
    """The values of a KV cache. Rows of int8 and of int4 (two codes per byte, the first in the low
    bits, plus 8) end with an fp32 scale per 64 columns."""
    limit = _max_code(cache, depth)
    if limit == 0 or cache.size == 0:
        return cache if limit == 0 else np.zeros((*cache.shape[:-1], depth))
    stored = (cache.astype(np.int64) & 255).astype(np.uint8)
    codes, scales = np.split(stored, [stored.shape[-1] - 4 * _row_scales(depth)], -1)
    values = codes.astype(np.int8).astype(np.float64)
    if limit == 7:
        values = np.stack([codes & 15, codes >> 4], -1).reshape(*codes.shape[:-1], depth) - 8.0
    factors = np.ascontiguousarray(scales).view("<f4").astype(np.float64)
    return np.asarray(values * np.repeat(factors, 64, -1)[..., :depth])


def dequantize_kv(
    keys: Stored, positions: Indices, depth: int, queries: int, heads_first: bool
) -> Array:
    """The rows up to the position of the last query; 0 after it."""
    rows = np.array(dequantized(keys, depth))
    visible = np.arange(keys.shape[2 if heads_first else 1]) < positions[0] + queries
    shape = (1, 1, -1, 1) if heads_first else (1, -1, 1, 1)
    return np.where(visible.reshape(shape), rows, 0)


def quantized(rows: Array, cache: Stored) -> Stored:
    """Rows in the dtype of a KV cache: codes, then scales, as the cache's bytes. Scales are bf16
    values, and ties round away from 0, so that the last bits of devices' results do not matter."""
    depth = rows.shape[-1]
    limit = _max_code(cache, depth)
    if limit == 0:
        return rows
    padded = np.zeros((*rows.shape[:-1], _row_scales(depth), 64))
    padded.reshape(*rows.shape[:-1], 64 * _row_scales(depth))[..., :depth] = np.abs(rows)
    scales = padded.max(-1).astype(np.float32) * np.float32(1 / limit)
    bits = scales.view(np.uint32)
    scales = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    factors = np.repeat(scales, 64, -1)[..., :depth].astype(np.float64)
    codes = np.rint(rows / np.where(factors == 0, 1, factors) * (1 + 2**-12))
    codes = np.clip(codes, -limit, limit).astype(np.int64)  # scales may be rounded down
    if limit == 7:
        codes = codes + 8
        codes = codes[..., ::2] | codes[..., 1::2] << 4
    stored = np.concatenate([codes.astype(np.uint8), scales.astype("<f4").view(np.uint8)], -1)
    return np.asarray(stored.astype(np.uint8 if limit == 7 else np.int8), np.int64)


def rotary_cache(
    x: Array,
    keys: Array,
    values: Array,
    cos: Array,
    sin: Array,
    position: Indices,
    query_norm: Array | None,
    key_norm: Array | None,
    eps: float,
    interleaved: bool,
) -> tuple[Array, ...]:
    """RMS norm and RoPE of the heads of Q and K; K and V are written to the KV cache."""
    kv_heads, depth = keys.shape[2], 2 * cos.shape[1]
    heads = x.reshape(*x.shape[:2], x.shape[2] // depth, depth)
    query_heads = heads.shape[2] - 2 * kv_heads
    query, key, value = np.split(heads, [query_heads, query_heads + kv_heads], 2)
    if query_norm is not None and key_norm is not None:
        query = rms_norm(query, [depth], query_norm, eps)
        key = rms_norm(key, [depth], key_norm, eps)
    query, key = (rotary_at_positions(t, cos, sin, position, 1, interleaved) for t in (query, key))
    return (
        query,
        cache_update(keys, quantized(key, keys), position, 1, False),
        cache_update(values, quantized(value, values), position, 1, False),
    )


def _scores_over_cache(
    query: Array,
    keys: Array,
    positions: Indices,
    heads_first: bool,
    window: int,
    scale: float,
    softcap: float,
) -> Array:
    """Scores [batch, head, query, key]; -inf for keys after the query or outside the window."""
    if not heads_first:
        query, keys = query.swapaxes(1, 2), keys.swapaxes(1, 2)
    keys = np.repeat(keys, query.shape[1] // keys.shape[1], axis=1)
    scores = query @ keys.swapaxes(-1, -2) * (scale or 1 / np.sqrt(query.shape[-1]))
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    at = _row_positions(positions, query.shape[2])[:, None]
    row = np.arange(keys.shape[2])
    visible = (row <= at) & ((row > at - window) | (window == 0))
    return np.where(visible, scores, -np.inf)


def _repeated_values(values: Array, heads: int, heads_first: bool) -> Array:
    values = values if heads_first else values.swapaxes(1, 2)
    return np.repeat(values, heads // values.shape[1], axis=1)


def cached_attention(
    query: Array,
    keys: Array,
    values: Array,
    positions: Indices,
    heads_first: bool,
    window: int,
    scale: float,
    softcap: float,
) -> Array:
    """softmax(scores) · values over the KV cache rows that are visible to each query."""
    keys, values = (dequantized(cache, query.shape[-1]) for cache in (keys, values))
    scores = _scores_over_cache(query, keys, positions, heads_first, window, scale, softcap)
    y = safe_softmax(scores, -1) @ _repeated_values(values, scores.shape[1], heads_first)
    return np.asarray(y if heads_first else y.swapaxes(1, 2))


def decode_attention(
    x: Array,
    keys: Array,
    values: Array,
    cos: Array,
    sin: Array,
    position: Indices,
    query_norm: Array | None,
    key_norm: Array | None,
    eps: float,
    interleaved: bool,
    window: int,
    scale: float,
    softcap: float,
) -> tuple[Array, ...]:
    """`rotary_cache` of one row, then `cached_attention` of its query. Attention reads the new row
    before it is rounded to the dtype of the caches."""
    tables = (cos, sin, position, query_norm, key_norm, eps, interleaved)
    exact_keys, exact_values = (dequantized(t, 2 * cos.shape[1]) for t in (keys, values))
    query, exact_keys, exact_values = rotary_cache(x, exact_keys, exact_values, *tables)
    y = cached_attention(query, exact_keys, exact_values, position, False, window, scale, softcap)
    return y, *rotary_cache(x, keys, values, *tables)[1:]


def decode_attention_partials(
    x: Array,
    keys: Array,
    values: Array,
    cos: Array,
    sin: Array,
    position: Indices,
    query_norm: Array | None,
    key_norm: Array | None,
    eps: float,
    interleaved: bool,
    window: int,
    scale: float,
    softcap: float,
    splits: int,
    group: int,
) -> Array:
    """Per split of the rows: unnormalized output, maximum score, sum of exponentials, 6 zeros."""
    keys, values = (dequantized(t, 2 * cos.shape[1]) for t in (keys, values))
    tables = (cos, sin, position, query_norm, key_norm, eps, interleaved)
    query, keys, values = rotary_cache(x, keys, values, *tables)
    scores = _scores_over_cache(query, keys, position, False, window, scale, softcap)[:, :, 0]
    values = _repeated_values(values, scores.shape[1], False)
    slot, row = int(position[0]), np.arange(keys.shape[1])
    begin, end = max(slot - window + 1, 0) if window else 0, min(max(slot, 0), len(row))
    length = max(-(-max(end - begin, 0) // splits), 32)
    split_of_row = np.where(row == slot, 0, (row - begin) // length)
    partials = np.zeros((*scores.shape[:2], splits, query.shape[-1] + 8), query.dtype)
    for split in range(splits):
        own = np.where(split_of_row == split, scores, -np.inf)
        top = own.max(-1)
        weights = np.exp(own - np.where(np.isinf(top), 0, top)[..., None])
        partials[:, :, split, :-8] = (weights[:, :, None] @ values)[:, :, 0]
        partials[:, :, split, -8], partials[:, :, split, -7] = top, weights.sum(-1)
    return partials
