"""Normalisations."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def layer_norm(
    x: Array, normalized_shape: list[int], weight: Array | None, bias: Array | None, eps: float
) -> Array:
    """Normalised over the last dims, with the biased variance."""
    dims = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    y = (x - x.mean(axis=dims, keepdims=True)) / np.sqrt(x.var(axis=dims, keepdims=True) + eps)
    if weight is not None:
        y = y * weight
    return np.asarray(y if bias is None else y + bias)


def batch_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    eps: float,
) -> Array:
    """Normalised per channel (dim 1) by stored statistics."""

    def per_channel(v: Array) -> Array:
        return v.reshape(-1, *[1] * (x.ndim - 2))

    y = (x - per_channel(running_mean)) / np.sqrt(per_channel(running_var) + eps)
    if weight is not None:
        y = y * per_channel(weight)
    return np.asarray(y if bias is None else y + per_channel(bias))
