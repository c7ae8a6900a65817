"""Attention, as the decomposition that it means."""

import numpy as np
from numpy.typing import NDArray

from .indexing import cache_update
from .normalization import rms_norm
from .reduction import safe_softmax

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    dropout_p: float,
    is_causal: bool,
    scale: float,
) -> Array:
    """softmax(query key^T scale + mask) value, heads of key and value repeated to query's."""
    if query.size == 0:
        return np.zeros((*query.shape[:-1], value.shape[-1]))
    shared = query.shape[-3] // key.shape[-3]
    key, value = (np.repeat(v, shared, axis=-3) for v in (key, value))
    scores = query @ key.swapaxes(-1, -2) * (scale or 1 / np.sqrt(query.shape[-1]))
    if attn_mask is not None:
        scores = scores + attn_mask
    if is_causal:
        seen = np.tri(scores.shape[-2], scores.shape[-1], dtype=np.bool_)
        scores = np.where(seen, scores, -np.inf)
    return np.asarray(safe_softmax(scores, -1) @ value)


def _rows(x: Array, outer: list[int], size: int, steps: list[int]) -> Array:
    """Rows of a size, by the sizes of the dims they are counted in: [first, step of each dim]."""
    first, *apart = steps
    places = sum(step * i for step, i in zip(apart, np.indices(outer), strict=True))
    return np.asarray(x.reshape(-1)[(first + np.asarray(places))[..., None] + np.arange(size)])


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
    query_steps: list[int],
    key_steps: list[int],
    value_steps: list[int],
    order: list[int],
    is_causal: bool,
    scale: float,
) -> Array:
    """Attention of the rows that are gathered from where they lie, its dims then put in order."""
    y = scaled_dot_product_attention(
        _rows(query, [batches, heads, queries], depth, query_steps),
        _rows(key, [batches, kv_heads, keys], depth, key_steps),
        _rows(value, [batches, kv_heads, keys], width, value_steps),
        attn_mask,
        0.0,
        is_causal,
        scale,
    )
    return y.transpose(*order, 3)


def rotary_embedding(x: Array, cos: Array, sin: Array, interleaved: bool) -> Array:
    """Pairs of a row as complex numbers, turned by cos + i sin."""
    first, second = (x[..., ::2], x[..., 1::2]) if interleaved else np.split(x, 2, axis=-1)
    turned = (first + 1j * second) * (cos + 1j * sin)
    if interleaved:
        pairs = np.stack([turned.real, turned.imag], axis=-1)
        return np.asarray(pairs.reshape(x.shape))
    return np.asarray(np.concatenate([turned.real, turned.imag], axis=-1))


def _placed(positions: Indices, count: int) -> Indices:
    """The positions of `count` steps, of which one may stand for those after it."""
    return np.asarray(positions if len(positions) == count else positions[0] + np.arange(count))


def rotary_at(
    x: Array, cos: Array, sin: Array, positions: Indices, dim: int, interleaved: bool
) -> Array:
    """Rotary embedding with the table's rows for the positions of the steps along dim."""
    x = np.moveaxis(x, dim, -2)
    at = np.clip(_placed(positions, x.shape[-2]), 0, len(cos) - 1)
    return np.moveaxis(rotary_embedding(x, cos[at], sin[at], interleaved), -2, dim)


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
    """Heads of x normed, turned, and put into the caches, one operator after the other."""
    cached, depth = keys.shape[2:]
    heads = x.reshape(*x.shape[:2], x.shape[2] // depth, depth)
    query, key, value = np.split(heads, [heads.shape[2] - 2 * cached, heads.shape[2] - cached], 2)
    if query_norm is not None and key_norm is not None:
        query = rms_norm(query, [depth], query_norm, eps)
        key = rms_norm(key, [depth], key_norm, eps)
    query, key = (rotary_at(t, cos, sin, position, 1, interleaved) for t in (query, key))
    return (
        query,
        cache_update(keys, key, position, 1, False),
        cache_update(values, value, position, 1, False),
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
    """[batch, head, query, key], -inf where a query does not see the key."""
    if not heads_first:
        query, keys = query.swapaxes(1, 2), keys.swapaxes(1, 2)
    keys = np.repeat(keys, query.shape[1] // keys.shape[1], axis=1)
    scores = query @ keys.swapaxes(-1, -2) * (scale or 1 / np.sqrt(query.shape[-1]))
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    at = _placed(positions, query.shape[2])[:, None]
    row = np.arange(keys.shape[2])
    seen = (row <= at) & ((row > at - window) | (window == 0))
    return np.where(seen, scores, -np.inf)


def _values(values: Array, heads: int, heads_first: bool) -> Array:
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
    """softmax over the rows of the cache that a query sees, times their values."""
    scores = _scores_over_cache(query, keys, positions, heads_first, window, scale, softcap)
    y = safe_softmax(scores, -1) @ _values(values, scores.shape[1], heads_first)
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
    """A row put into the caches, and its query over them, one operator after the other."""
    query, keys, values = rotary_cache(
        x, keys, values, cos, sin, position, query_norm, key_norm, eps, interleaved
    )
    y = cached_attention(query, keys, values, position, False, window, scale, softcap)
    return y, keys, values


def cached_attention_parts(
    query: Array,
    keys: Array,
    values: Array,
    positions: Indices,
    heads_first: bool,
    window: int,
    scale: float,
    softcap: float,
    parts: int,
) -> tuple[Array, ...]:
    """Sums of exponentials times values, greatest scores and sums of exponentials of each part."""
    scores = _scores_over_cache(query, keys, positions, heads_first, window, scale, softcap)
    values = _values(values, scores.shape[1], heads_first)
    number = _parts_of(scores, positions, window, parts)
    found: list[tuple[Array, ...]] = []
    for part in range(parts):
        own = np.where(number == part, scores, -np.inf)
        top = own.max(-1)
        weights = np.exp(own - np.where(np.isinf(top), 0, top)[..., None])
        found.append((weights @ values, top, weights.sum(-1)))
    y, tops, sums = (np.stack(each, axis=3) for each in zip(*found, strict=True))
    return tuple(a if heads_first else a.swapaxes(1, 2) for a in (y, tops, sums))


def _parts_of(scores: Array, positions: Indices, window: int, parts: int) -> Indices:
    """Which part each row of the cache belongs to, [query, row]."""
    queries, rows = scores.shape[-2:]
    at = positions[0] + np.arange(queries) if len(positions) == 1 else positions
    begin = np.maximum(at - window + 1, 0) if window > 0 else np.zeros_like(at)
    seen = np.maximum(np.minimum(at, rows - 1) + 1 - begin, 0)
    size = np.maximum(-(-seen // parts), 16)
    return np.asarray((np.arange(rows) - begin[:, None]) // size[:, None])


def join_attention(parts: Array, tops: Array, sums: Array, dtype: str) -> Array:
    """Parts as one, each weighed by how far its greatest score is below the greatest."""
    top = tops.max(-1, keepdims=True)
    weights = np.exp(tops - np.where(np.isinf(top), 0, top))
    total = (weights * sums).sum(-1)[..., None]
    return np.asarray((weights[..., None] * parts).sum(-2) / np.where(total == 0, 1, total))
