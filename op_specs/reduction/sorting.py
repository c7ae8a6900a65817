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


def topk_parts(x: Array, count: int, stride: int, k: int, largest: bool) -> Array:
    """Indices of the first k elements of each part of 1024; `count` where a part has fewer."""
    rows = np.moveaxis(x.reshape(-1, count, stride), 1, 2).reshape(-1, count)
    return _parts(rows, np.tile(np.arange(count), (len(rows), 1)), k, largest)


def topk_parts_refined(x: Array, count: int, stride: int, k: int, largest: bool) -> Array:
    """The same of parts of the result of topk_parts."""
    rows = np.moveaxis(x.reshape(-1, count, stride), 1, 2).reshape(-1, count)
    return _parts(rows, topk_parts(x, count, stride, k, largest), k, largest)


def _parts(rows: Array, lists: Array, k: int, largest: bool) -> Array:
    count, parts = rows.shape[1], -(-lists.shape[1] // 1024)
    y = np.full((len(rows), parts * k), count)
    for row, (values, indices) in enumerate(zip(rows, lists, strict=True)):
        for part in range(parts):
            own = np.sort(indices[part * 1024 : (part + 1) * 1024])
            own = own[own < count]
            order = sort(values[own], 0, largest)[1][:k]
            y[row, part * k : part * k + len(order)] = own[order]
    return y
