"""Sorting."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def sort(x: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """Stable, NaN greatest: the elements in order and their places before."""
    if descending:
        # Turning the line round twice keeps equals in their order.
        backwards = np.flip(np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)
        order = x.shape[dim] - 1 - backwards
    else:
        order = np.argsort(x, axis=dim, kind="stable")
    return np.take_along_axis(x, order, axis=dim), order


def topk(x: Array, k: int, dim: int, largest: bool) -> tuple[Array, Array]:
    """The first k of the sorted elements and their places."""
    values, order = sort(x, dim, largest)
    return np.take(values, np.arange(k), axis=dim), np.take(order, np.arange(k), axis=dim)


def _running(x: Array, dim: int, later: np.ufunc) -> tuple[Array, Array]:
    """The extremes of what lies before each place along dim, and where the last of them lies."""
    values = later.accumulate(x, axis=dim)
    places = np.indices(x.shape)[dim % x.ndim]
    hit = np.where((x == values) | np.isnan(x), places, 0)
    return values, np.maximum.accumulate(hit, axis=dim)


def cummax(x: Array, dim: int) -> tuple[Array, Array]:
    """The greatest up to each place; NaN wins."""
    return _running(x, dim, np.maximum)


def cummin(x: Array, dim: int) -> tuple[Array, Array]:
    """The least up to each place; NaN wins."""
    return _running(x, dim, np.minimum)


def max_dim(x: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The greatest along dim, and its first place."""
    return np.max(x, axis=dim, keepdims=keepdim), np.argmax(x, axis=dim, keepdims=keepdim)


def min_dim(x: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The least along dim, and its first place."""
    return np.min(x, axis=dim, keepdims=keepdim), np.argmin(x, axis=dim, keepdims=keepdim)
