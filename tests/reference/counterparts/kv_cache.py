"""KV cache updates, attention over the cache, and sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from op_specs.sampling import sampling
from tests.reference.counterparts.layers import COUNTERPARTS as LAYERS
from tests.reference.counterparts.reductions import safe_softmax


def _row_positions(positions: Any, count: int) -> Any:
    """One position per row; a single position is that of the first row."""
    positions = positions.long()
    return positions if len(positions) == count else positions + torch.arange(count)


def _cache_update(cache: Any, src: Any, positions: Any, dim: int, ring: bool) -> Any:
    y = cache.clone()
    rows = _row_positions(positions, src.shape[dim]).tolist()
    for position, row in zip(rows, src.unbind(dim), strict=True):
        slot = position % cache.shape[dim] if ring and position >= 0 else position
        if 0 <= slot < cache.shape[dim]:
            y.select(dim, slot).copy_(row)
    return y


def _rotary_at_positions(
    x: Any, cos: Any, sin: Any, positions: Any, dim: int, interleaved: bool
) -> Any:
    at = _row_positions(positions, x.shape[dim]).clamp(0, len(cos) - 1)
    shape = [1] * x.ndim
    shape[dim], shape[-1] = x.shape[dim], -1
    angles = (t[at].reshape(shape).expand(*x.shape[:-1], -1) for t in (cos, sin))
    return LAYERS["spirloom.rotary_embedding"](x, *angles, interleaved)


def _dequantized(cache: Any, depth: int) -> Any:
    """The values of a cache: of floats, or of bytes, whose rows end with fp32 scales."""
    if cache.dtype.is_floating_point:
        return cache.double()
    bytes_of_scales = 4 * -(-depth // 64)
    codes = cache[..., :-bytes_of_scales]
    scales = cache[..., -bytes_of_scales:].contiguous().view(torch.float32).double()
    if cache.dtype is torch.uint8:
        codes = torch.stack([codes & 15, codes >> 4], -1).flatten(-2).double() - 8
    return codes.double() * scales.repeat_interleave(64, -1)[..., :depth]


def _quantized(rows: Any, cache: Any) -> Any:
    """Rows in the dtype of a cache."""
    if cache.dtype.is_floating_point:
        return rows.to(cache.dtype)
    limit = 127 if cache.dtype is torch.int8 else 7
    groups, stored = rows.split(64, -1), []
    scales = torch.stack([group.abs().amax(-1).float() for group in groups], -1)
    scales = (scales * (1 / limit)).to(torch.bfloat16).float()
    for group, scale in zip(groups, scales.double().unbind(-1), strict=True):
        stored.append(
            (group / scale.clamp_min(1e-300)[..., None] * (1 + 2**-12)).round().clamp(-limit, limit)
        )
    codes = torch.cat(stored, -1).to(torch.int32)
    if limit == 7:
        low, high = (codes + 8).unflatten(-1, (-1, 2)).unbind(-1)
        codes = low | high << 4
    return torch.cat([codes.to(cache.dtype), scales.view(cache.dtype)], -1)


def _rotary_cache(
    x: Any, keys: Any, values: Any, cos: Any, sin: Any, position: Any,
    query_norm: Any, key_norm: Any, eps: float, interleaved: bool,
) -> Any:  # fmt: skip
    cached, depth = keys.shape[2], 2 * cos.shape[1]
    heads = x.reshape(*x.shape[:2], x.shape[2] // depth, depth)
    query, key, value = heads.split([heads.shape[2] - 2 * cached, cached, cached], 2)
    if query_norm is not None:
        query = LAYERS["aten.rms_norm"](query, [depth], query_norm, eps)
        key = LAYERS["aten.rms_norm"](key, [depth], key_norm, eps)
    if x.numel():  # PyTorch has no empty complex tensors
        query, key = (
            _rotary_at_positions(t, cos, sin, position, 1, interleaved) for t in (query, key)
        )
    new = ((keys, key), (values, value)) if x.numel() else ()
    caches = [_cache_update(c, _quantized(t, c), position, 1, False) for c, t in new]
    return query, *(caches or (keys, values))


def _masked(scores: Any, top_k: int, top_p: float) -> Any:
    """Masks by top-k and top-p as transformers' warpers do, except that it keeps ties."""
    if 0 < top_k < len(scores):
        minimum = scores.topk(top_k).values[-1]
        scores = scores.masked_fill(scores < minimum, -torch.inf)
    if top_p < 1:
        order = scores.argsort(stable=True)
        cumulative = scores[order].softmax(-1).cumsum(-1)
        masked = cumulative <= 1 - top_p
        masked[-1] = False
        scores = scores.masked_fill(scores < scores[order[~masked]].min(), -torch.inf)
    return scores


def _sample_token(
    scores: Any, temperature: Any, top_k: Any, top_p: Any, seed: Any, position: Any
) -> Any:
    """Masked by PyTorch; the noise is the reference's, since PyTorch's CPU generator differs."""
    if temperature[0] <= 0:
        return scores.argmax(-1)
    chosen = []
    for row, row_scores in enumerate(scores.double() / temperature[0]):
        noise = sampling.gumbel_noise(len(row_scores), int(position[0]) + row, int(seed[0]))
        masked = _masked(row_scores, int(top_k[0]), float(top_p[0]))
        chosen.append((masked + torch.from_numpy(noise)).argmax(-1))
    return torch.stack(chosen) if chosen else scores.new_zeros(0, dtype=torch.int64)


def _visible(positions: Any, rows: int, window: int) -> Any:
    row, position = torch.arange(rows), positions[:, None]
    return (row <= position) & ((row > position - window) if window else True)


def _masked_scores(
    q: Any,
    k: Any,
    v: Any,
    positions: Any,
    heads_first: bool,
    window: int,
    scale: float,
    softcap: float,
) -> tuple[Any, Any]:
    """Scores, -inf for masked keys, and values, both in the layout [batch, head, row, …]."""
    k, v = (_dequantized(t, q.shape[-1]) for t in (k, v))
    if not heads_first:
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    visible = _visible(_row_positions(positions, q.shape[2]), k.shape[2], window)
    q, k, v = (t.double() for t in (q, k, v))  # f16 if only the output is f32
    scores = q @ k.transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
    if softcap:
        scores = (scores / softcap).tanh() * softcap
    return scores.masked_fill(~visible, -torch.inf), v


def _cached_attention(
    q: Any,
    k: Any,
    v: Any,
    positions: Any,
    heads_first: bool,
    window: int,
    scale: float,
    softcap: float,
) -> Any:
    scores, v = _masked_scores(q, k, v, positions, heads_first, window, scale, softcap)
    y = safe_softmax(scores, -1) @ v
    return y if heads_first else y.transpose(1, 2)


def _decode_attention(
    x: Any, keys: Any, values: Any, cos: Any, sin: Any, position: Any,
    query_norm: Any, key_norm: Any, eps: float, interleaved: bool,
    window: int, scale: float, softcap: float,
) -> Any:  # fmt: skip
    tables = (cos, sin, position, query_norm, key_norm, eps, interleaved)
    exact_keys, exact_values = (_dequantized(t, 2 * cos.shape[1]) for t in (keys, values))
    query, exact_keys, exact_values = _rotary_cache(x, exact_keys, exact_values, *tables)
    y = _cached_attention(query, exact_keys, exact_values, position, False, window, scale, softcap)
    return y, *_rotary_cache(x, keys, values, *tables)[1:]


def _decode_attention_partials(
    x: Any, keys: Any, values: Any, cos: Any, sin: Any, position: Any,
    query_norm: Any, key_norm: Any, eps: float, interleaved: bool,
    window: int, scale: float, softcap: float, splits: int, group: int,
) -> Any:  # fmt: skip
    """Splits by the rank of a row among those before the own one, which belongs to the first."""
    keys, values = (_dequantized(t, 2 * cos.shape[1]).double() for t in (keys, values))
    x, cos, sin = (t.double() for t in (x, cos, sin))  # f16, although the output is f32
    if query_norm is not None:
        query_norm, key_norm = query_norm.double(), key_norm.double()
    tables = (cos, sin, position, query_norm, key_norm, eps, interleaved)
    query, keys, values = _rotary_cache(x, keys, values, *tables)
    scores, v = _masked_scores(query, keys, values, position, False, window, scale, softcap)
    older = (scores > -torch.inf) & (torch.arange(keys.shape[1]) != position)
    rank = older.cumsum(-1) - 1
    # The window has one row less if it contains the own row.
    size = (older[0, 0, 0].sum() + splits - 1).div(splits, rounding_mode="floor").clamp_min(32)
    of_row = torch.where(older, rank.div(size, rounding_mode="floor"), 0)
    partial = []
    for split in range(splits):
        own = scores.masked_fill(of_row != split, -torch.inf)
        top = own.amax(-1, keepdim=True)
        weights = (own - top.nan_to_num(neginf=0.0)).exp()
        rest = torch.zeros(*top.shape[:-1], 6, dtype=top.dtype)
        partial.append(torch.cat([weights @ v, top, weights.sum(-1, keepdim=True), rest], -1))
    return torch.cat(partial, 2)


def _dequantize_kv(keys: Any, positions: Any, depth: int, queries: int, heads_first: bool) -> Any:
    rows = _dequantized(keys, depth).clone()
    first_hidden = max(int(positions[0]) + queries, 0)
    (rows[:, :, first_hidden:] if heads_first else rows[:, first_hidden:]).zero_()
    return rows


COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "spirloom.cache_update": _cache_update,
    "spirloom.rotary_at_positions": _rotary_at_positions,
    "spirloom.rotary_cache": _rotary_cache,
    "spirloom.sample_token": _sample_token,
    "spirloom.cached_attention": _cached_attention,
    "spirloom.decode_attention": _decode_attention,
    "spirloom.dequantize_kv": _dequantize_kv,
    "spirloom.decode_attention_partials": _decode_attention_partials,
}
