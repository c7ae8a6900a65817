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


def _keys(x: Array, count: int, stride: int, descending: bool) -> Array:
    """The rows, as integers in the order of their elements: bits of floats, NaN last."""
    rows = np.moveaxis(x.reshape(-1, count, stride), 1, 2).reshape(-1, count)
    if np.issubdtype(x.dtype, np.floating):
        bits = np.where(rows == 0, 0, rows).astype(np.float32).view(np.int32).astype(np.int64)
        rows = np.where(np.isnan(rows), 2**31 - 1, np.where(bits < 0, bits ^ (2**31 - 1), bits))
    return ~rows.astype(np.int64) if descending else rows.astype(np.int64)


def sort_runs(keys: Array, run: int) -> Array:
    """Keys of rows and their indices, [2, rows * count], sorted stably in runs."""
    parts = [
        begin + np.argsort(keys[:, begin : begin + run], axis=1, kind="stable")
        for begin in range(0, keys.shape[1], run)
    ]
    order = np.concatenate(parts, axis=1)
    return np.stack([np.take_along_axis(keys, order, axis=1).ravel(), order.ravel()])


def merge_runs(keys: Array) -> Array:
    """The sorted keys and indices, and those before the last merge: [2, 2, rows * count]."""
    last = max((keys.shape[1] - 1).bit_length(), 12)
    return np.stack([sort_runs(keys, 1 << last), sort_runs(keys, 1 << (last - 1))])


def sort_blocks(x: Array, count: int, stride: int, descending: bool) -> Array:
    """Keys and indices, sorted in blocks of 1024."""
    return sort_runs(_keys(x, count, stride, descending), 1024)


def sort_order(x: Array, count: int, stride: int, descending: bool) -> Array:
    """Keys and indices, sorted, and those before the last merge."""
    return merge_runs(_keys(x, count, stride, descending))
