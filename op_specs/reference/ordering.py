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
