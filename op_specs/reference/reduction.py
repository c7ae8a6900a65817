"""Reductions that are more than one NumPy expression."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mean(x: Array, dim: list[int], keepdim: bool) -> Array:
    """The mean over dims; NaN of nothing."""
    with np.errstate(invalid="ignore"):
        count = np.prod([x.shape[d] for d in dim])
        return np.asarray(x.sum(axis=tuple(dim), keepdims=keepdim) / count)


def log_softmax(x: Array, dim: int) -> Array:
    """x - log(sum(exp(x))) along dim."""
    if x.size == 0:
        return x
    off = x - x.max(axis=dim, keepdims=True)
    return np.asarray(off - np.log(np.exp(off).sum(axis=dim, keepdims=True)))


def softmax(x: Array, dim: int) -> Array:
    """exp(x) / sum(exp(x)) along dim."""
    return np.exp(log_softmax(x, dim))
