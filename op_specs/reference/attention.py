"""Attention, as the decomposition that it means."""

import numpy as np
from numpy.typing import NDArray

from .reduction import safe_softmax

Array = NDArray[np.float64]


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


def rotary_embedding(x: Array, cos: Array, sin: Array, interleaved: bool) -> Array:
    """Pairs of a row as complex numbers, turned by cos + i sin."""
    first, second = (x[..., ::2], x[..., 1::2]) if interleaved else np.split(x, 2, axis=-1)
    turned = (first + 1j * second) * (cos + 1j * sin)
    if interleaved:
        pairs = np.stack([turned.real, turned.imag], axis=-1)
        return np.asarray(pairs.reshape(x.shape))
    return np.asarray(np.concatenate([turned.real, turned.imag], axis=-1))
