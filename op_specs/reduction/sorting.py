"""Sorting."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def sort(x: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """The sorted elements and their original indices. Stable; NaN is the maximum."""
    if descending:
        # Flipping before and after the sort keeps equal elements in their order.
        flipped = np.flip(np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)
        order = x.shape[dim] - 1 - flipped
    else:
        order = np.argsort(x, axis=dim, kind="stable")
    return np.take_along_axis(x, order, axis=dim), order


def topk(x: Array, k: int, dim: int, largest: bool) -> tuple[Array, Array]:
    """The first k sorted elements and their indices."""
    values, order = sort(x, dim, largest)
    return np.take(values, np.arange(k), axis=dim), np.take(order, np.arange(k), axis=dim)
