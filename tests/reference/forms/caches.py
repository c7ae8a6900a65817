"""Caches, and what looks at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from op_specs.reference import sampling
from tests.reference.forms.layers import FORMS as LAYERS
from tests.reference.forms.reductions import safe_softmax


def _placed(positions: Any, count: int) -> Any:
    positions = positions.long()
    return positions if len(positions) == count else positions + torch.arange(count)


def _cache_update(cache: Any, src: Any, positions: Any, dim: int, ring: bool) -> Any:
    y = cache.clone()
    for at, row in zip(_placed(positions, src.shape[dim]).tolist(), src.unbind(dim), strict=True):
        place = at % cache.shape[dim] if ring and at >= 0 else at
        if 0 <= place < cache.shape[dim]:
            y.select(dim, place).copy_(row)
    return y


def _rotary_at(x: Any, cos: Any, sin: Any, positions: Any, dim: int, interleaved: bool) -> Any:
    at = _placed(positions, x.shape[dim]).clamp(0, len(cos) - 1)
    shape = [1] * x.ndim
    shape[dim], shape[-1] = x.shape[dim], -1
    angles = (t[at].reshape(shape).expand(*x.shape[:-1], -1) for t in (cos, sin))
    return LAYERS["spirloom.rotary_embedding"](x, *angles, interleaved)


def _rotary_cache(
    x: Any, keys: Any, values: Any, cos: Any, sin: Any, position: Any,
    query_norm: Any, key_norm: Any, eps: float, interleaved: bool,
) -> Any:  # fmt: skip
    cached, depth = keys.shape[2:]
    heads = x.reshape(*x.shape[:2], x.shape[2] // depth, depth)
    query, key, value = heads.split([heads.shape[2] - 2 * cached, cached, cached], 2)
    if query_norm is not None:
        query = LAYERS["aten.rms_norm"](query, [depth], query_norm, eps)
        key = LAYERS["aten.rms_norm"](key, [depth], key_norm, eps)
    if x.numel():  # PyTorch has no complex numbers of no elements
        query, key = (_rotary_at(t, cos, sin, position, 1, interleaved) for t in (query, key))
    caches = (_cache_update(c, t, position, 1, False) for c, t in ((keys, key), (values, value)))
    return query, *caches


def _kept(scores: Any, top_k: int, top_p: float) -> Any:
    """The others as -inf: what transformers' warpers do, but that equal scores stay together."""
    if 0 < top_k < len(scores):
        least = scores.topk(top_k).values[-1]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if top_p < 1:
        order = scores.argsort(stable=True)
        below = scores[order].softmax(-1).cumsum(-1)
        goes = below <= 1 - top_p
        goes[-1] = False
        scores = scores.masked_fill(scores < scores[order[~goes]].min(), -torch.inf)
    return scores


def _sample_token(
    scores: Any, temperature: Any, top_k: Any, top_p: Any, seed: Any, position: Any
) -> Any:
    """PyTorch says which tokens stay; the noise, whose generator its CPUs lack, is ours."""
    if temperature[0] <= 0:
        return scores.argmax(-1)
    chosen = []
    for row, own in enumerate(scores.double() / temperature[0]):
        noise = sampling.noise(len(own), int(position[0]) + row, int(seed[0]))
        kept = _kept(own, int(top_k[0]), float(top_p[0]))
        chosen.append((kept + torch.from_numpy(noise)).argmax(-1))
    return torch.stack(chosen) if chosen else scores.new_zeros(0, dtype=torch.int64)


def _seen(at: Any, rows: int, window: int) -> Any:
    row = torch.arange(rows)
    return (row <= at[:, None]) & ((row > at[:, None] - window) if window else True)


def _over_heads(
    q: Any,
    k: Any,
    v: Any,
    positions: Any,
    heads_first: bool,
    window: int,
    scale: float,
    softcap: float,
) -> tuple[Any, Any]:
    """Scores, -inf where a key is not seen, and values; heads before rows."""
    if not heads_first:
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
    seen = _seen(_placed(positions, q.shape[2]), k.shape[2], window)
    q, k, v = (t.double() for t in (q, k, v))  # halves where only the output is no half
    scores = q @ k.transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
    if softcap:
        scores = (scores / softcap).tanh() * softcap
    return scores.masked_fill(~seen, -torch.inf), v


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
    scores, v = _over_heads(q, k, v, positions, heads_first, window, scale, softcap)
    y = safe_softmax(scores, -1) @ v
    return y if heads_first else y.transpose(1, 2)


def _decode_attention(
    x: Any, keys: Any, values: Any, cos: Any, sin: Any, position: Any,
    query_norm: Any, key_norm: Any, eps: float, interleaved: bool,
    window: int, scale: float, softcap: float,
) -> Any:  # fmt: skip
    query, keys, values = _rotary_cache(
        x, keys, values, cos, sin, position, query_norm, key_norm, eps, interleaved
    )
    y = _cached_attention(query, keys, values, position, False, window, scale, softcap)
    return y, keys, values


def _parts(
    q: Any,
    k: Any,
    v: Any,
    positions: Any,
    heads_first: bool,
    window: int,
    scale: float,
    softcap: float,
    parts: int,
) -> Any:
    scores, v = _over_heads(q, k, v, positions, heads_first, window, scale, softcap)
    rank = (scores > -torch.inf).cumsum(-1) - 1  # of a row among those that a query sees
    seen = rank[..., -1:] + 1
    size = (seen + parts - 1).div(parts, rounding_mode="floor").clamp_min(16)
    found = []
    for part in range(parts):
        others = rank.div(size, rounding_mode="floor") != part
        own = scores.masked_fill(others, -torch.inf)
        top = own.amax(-1)
        weights = (own - top.nan_to_num(neginf=0.0)[..., None]).exp()
        found.append((weights @ v, top, weights.sum(-1)))
    stacked = [torch.stack(parts, 3) for parts in zip(*found, strict=True)]
    return tuple(t if heads_first else t.transpose(1, 2) for t in stacked)


def _joined(parts: Any, tops: Any, sums: Any, dtype: str) -> Any:
    """The parts' shares of the whole are a softmax over tops + log(sums)."""
    shares = (tops + sums.log()).softmax(-1).nan_to_num(0.0)
    return (shares[..., None] * (parts / sums.clamp_min(1e-30)[..., None])).sum(-2)


FORMS: dict[str, Callable[..., Any]] = {
    "spirloom.cache_update": _cache_update,
    "spirloom.rotary_at": _rotary_at,
    "spirloom.rotary_cache": _rotary_cache,
    "spirloom.sample_token": _sample_token,
    "spirloom.cached_attention": _cached_attention,
    "spirloom.cached_attention_parts": _parts,
    "spirloom.decode_attention": _decode_attention,
    "spirloom.join_attention": _joined,
}
