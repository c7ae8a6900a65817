"""Gather, scatter and updates by index tensors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..reduction.sorting import merge_runs, sort_runs

Array = NDArray[Any]
Indices = NDArray[np.int64]


def gather(x: Array, dim: int, index: Indices) -> Array:
    """y[p] = x[p with index[p] along dim]"""
    y = np.empty(index.shape, x.dtype)
    for p in np.ndindex(*index.shape):
        y[p] = x[_with_index(p, dim % x.ndim, int(index[p]))]
    return y


def _with_index(p: tuple[int, ...], dim: int, index: int) -> tuple[int, ...]:
    """The coordinates p, with `index` along dim."""
    return (*p[:dim], index, *p[dim + 1 :])


def _scattered(
    x: Array, dim: int, index: Indices, src: Array, combine: np.ufunc | None
) -> tuple[Array, Indices]:
    """x with src scattered, and the number of elements scattered to each of its elements."""
    y, counts = x.copy(), np.zeros(x.shape, np.int64)
    for p in np.ndindex(*index.shape):
        target = _with_index(p, dim % x.ndim, int(index[p]))
        y[target] = src[p] if combine is None else combine(y[target], src[p])
        counts[target] += 1
    return y, counts


def scatter(x: Array, dim: int, index: Indices, src: Array) -> Array:
    """x with y[p with index[p] along dim] = src[p]; the last write wins."""
    return _scattered(x, dim, index, src, None)[0]


def scatter_add(x: Array, dim: int, index: Indices, src: Array) -> Array:
    """x with y[p with index[p] along dim] += src[p]."""
    return _scattered(x, dim, index, src, np.add)[0]


def scatter_reduce(
    x: Array, dim: int, index: Indices, src: Array, reduce: str, include_self: bool
) -> Array:
    """x with src scattered and reduced; `include_self`: the reduction starts from x."""
    ufuncs: dict[str, np.ufunc] = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
    start = x
    if not include_self:
        neutral = {"prod": 1.0, "amax": -np.inf, "amin": np.inf}.get(reduce, 0.0)
        start = np.full(x.shape, neutral)
    y, counts = _scattered(start, dim, index, src, ufuncs.get(reduce, np.add))
    if reduce == "mean":
        y = y / np.maximum(counts + include_self, 1)
    return np.asarray(np.where(counts > 0, y, x).astype(y.dtype if include_self else x.dtype))


def index_nd(
    x: Array, index0: Indices, index1: Indices | None, index2: Indices | None, dim: int
) -> Array:
    """NumPy's advanced indexing of consecutive dims, starting at `dim`."""
    lead: list[Any] = [slice(None)] * (dim % x.ndim)
    return np.asarray(x[(*lead, *(i for i in (index0, index1, index2) if i is not None))])


def index_put(
    x: Array,
    index0: Indices,
    index1: Indices | None,
    index2: Indices | None,
    src: Array,
    dim: int,
    accumulate: bool,
) -> Array:
    """x with src written, or added, at index tensors of consecutive dims; the last write wins."""
    y = x.copy()
    indices = (i for i in (index0, index1, index2) if i is not None)
    target: Any = (*[slice(None)] * (dim % x.ndim), *indices)
    if accumulate:
        np.add.at(y, target, src)
    else:
        y[target] = src
    return y


def index_copy(x: Array, dim: int, index: Indices, src: Array) -> Array:
    """x with the slices at index replaced by src."""
    return index_put(x, index, None, None, src, dim, False)


def cache_update(cache: Array, src: Array, positions: Indices, dim: int, ring: bool) -> Array:
    """The cache with the rows of src written at the positions, or from a single position on.

    Rows beyond the cache are skipped, or wrap around in a ring buffer.
    """
    y = np.moveaxis(cache.copy(), dim, 0)
    rows = np.moveaxis(src, dim, 0)
    for i, row in enumerate(rows):
        at = int(positions[i] if len(positions) == len(rows) else positions[0] + i)
        at = at % len(y) if ring and at >= 0 else at
        if 0 <= at < len(y):
            y[at] = row
    return np.moveaxis(y, 0, dim)


def index_add(x: Array, dim: int, index: Indices, src: Array, alpha: float) -> Array:
    """x with alpha * src added to the slices at index."""
    return index_put(x, index, None, None, alpha * src, dim, True)


def scatter_nd(x: Array, index: Indices, src: Array, reduce: str) -> Array:
    """x with src written, or reduced, at the coordinates in the last dim of index, in order."""
    ufuncs: dict[str, np.ufunc] = {
        "sum": np.add,
        "prod": np.multiply,
        "amax": np.maximum,
        "amin": np.minimum,
    }
    y = x.copy()
    for p in np.ndindex(*index.shape[:-1]):
        target = tuple(index[p])
        y[target] = ufuncs[reduce](y[target], src[p]) if reduce in ufuncs else src[p]
    return y


def gather_nd(x: Array, index: Indices, batch_dims: int) -> Array:
    """The slices of x at the coordinates in the last dim of index."""
    lead = index.shape[:-1]
    y = np.empty((*lead, *x.shape[batch_dims + index.shape[-1] :]), x.dtype)
    for p in np.ndindex(*lead):
        y[p] = x[(*p[:batch_dims], *index[p])]
    return y


NO_TARGET = 2**31 - 1


def _targets(indices: list[Indices], sizes: list[int], count: int, stride: int) -> Indices:
    """The dense targets of points, [rows, count]; NO_TARGET where a coordinate is out of range."""
    target = np.zeros(indices[0].size, np.int64)
    valid = np.full(indices[0].size, True)
    for index, size in zip(indices, sizes, strict=True):
        at = index.ravel() + np.where(index.ravel() < 0, size, 0)
        valid &= (at >= 0) & (at < size)
        target = target * size + at
    target = np.where(valid, target, NO_TARGET)
    return np.moveaxis(target.reshape(-1, count, stride), 1, 2).reshape(-1, count)


def _coordinates(
    index0: Indices,
    index1: Indices | None,
    index2: Indices | None,
    sizes: list[int],
    packed: bool,
) -> list[Indices]:
    """One array of indices per coordinate."""
    if packed:
        return list(np.moveaxis(index0.reshape(-1, len(sizes)), 1, 0))
    return [i for i in (index0, index1, index2) if i is not None][: len(sizes)]


def last_points(
    index0: Indices,
    index1: Indices | None,
    index2: Indices | None,
    sizes: list[int],
    count: int,
    stride: int,
    packed: bool,
) -> Array:
    """The last point of each row that updates a target, or -1."""
    indices = _coordinates(index0, index1, index2, sizes, packed)
    rows = _targets(indices, sizes, count, stride)
    y = np.full((len(rows), int(np.prod(sizes))), -1)
    for row, targets in enumerate(rows):
        for k, target in enumerate(targets):
            if target != NO_TARGET:
                y[row, target] = k
    return y


def scatter_blocks(
    index0: Indices,
    index1: Indices | None,
    index2: Indices | None,
    sizes: list[int],
    count: int,
    stride: int,
    packed: bool,
) -> Array:
    """Targets and points, sorted in blocks of 1024."""
    indices = _coordinates(index0, index1, index2, sizes, packed)
    return sort_runs(_targets(indices, sizes, count, stride), 1024)


def scatter_order(
    index0: Indices,
    index1: Indices | None,
    index2: Indices | None,
    sizes: list[int],
    count: int,
    stride: int,
    packed: bool,
) -> Array:
    """Targets and points, sorted, and those before the last merge."""
    indices = _coordinates(index0, index1, index2, sizes, packed)
    return merge_runs(_targets(indices, sizes, count, stride))


def scatter_sums(
    src: Array,
    index0: Indices,
    index1: Indices | None,
    index2: Indices | None,
    sizes: list[int],
    count: int,
    inner: int,
    packed: bool,
    single: bool,
) -> Array:
    """Sums of blocks of 256 sorted points with the same target; 0 of other blocks."""
    indices = _coordinates(index0, index1, index2, sizes, packed)
    targets = _targets(indices, sizes, count, 1).reshape(count)
    order = np.argsort(targets, kind="stable")
    values = np.broadcast_to(src.reshape(-1), (count,)) if single else src
    values = values.reshape(-1, count, 1 if single else inner)
    y = np.zeros((len(values), -(-count // 256), values.shape[2]), src.dtype)
    for block in range(count // 256):
        points = order[256 * block : 256 * (block + 1)]
        if targets[points[0]] == targets[points[-1]]:
            y[:, block] = values[:, points].sum(1)
    return y
