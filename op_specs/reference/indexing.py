"""Picking and placing elements by index tensors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Indices = NDArray[np.int64]


def gather(x: Array, dim: int, index: Indices) -> Array:
    """y[p] = x[p with index[p] along dim]."""
    y = np.empty(index.shape, x.dtype)
    for p in np.ndindex(*index.shape):
        y[p] = x[_moved(p, dim % x.ndim, index[p])]
    return y


def _moved(p: tuple[int, ...], dim: int, place: int) -> tuple[int, ...]:
    return (*p[:dim], int(place), *p[dim + 1 :])


def _scattered(
    x: Array, dim: int, index: Indices, src: Array, step: np.ufunc | None
) -> tuple[Array, Indices]:
    """x with src combined in, and how many elements came to each place."""
    y, came = x.copy(), np.zeros(x.shape, np.int64)
    for p in np.ndindex(*index.shape):
        place = _moved(p, dim % x.ndim, index[p])
        y[place] = src[p] if step is None else step(y[place], src[p])
        came[place] += 1
    return y, came


def scatter(x: Array, dim: int, index: Indices, src: Array) -> Array:
    """x with y[p with index[p] along dim] = src[p]; the last one wins."""
    return _scattered(x, dim, index, src, None)[0]


def scatter_add(x: Array, dim: int, index: Indices, src: Array) -> Array:
    """x with src[p] added at p with index[p] along dim."""
    return _scattered(x, dim, index, src, np.add)[0]


def scatter_reduce(
    x: Array, dim: int, index: Indices, src: Array, reduce: str, include_self: bool
) -> Array:
    """x with src[p] combined at p with index[p] along dim, and with x's element if it counts."""
    steps: dict[str, np.ufunc] = {"prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
    start = x
    if not include_self:
        neutral = {"prod": 1.0, "amax": -np.inf, "amin": np.inf}.get(reduce, 0.0)
        start = np.full(x.shape, neutral)
    y, came = _scattered(start, dim, index, src, steps.get(reduce, np.add))
    if reduce == "mean":
        y = y / np.maximum(came + include_self, 1)
    return np.asarray(np.where(came > 0, y, x).astype(y.dtype if include_self else x.dtype))


def index(
    x: Array, index0: Indices, index1: Indices | None, index2: Indices | None, dim: int
) -> Array:
    """NumPy's indexing by neighbouring index arrays."""
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
    """x with src at neighbouring index arrays; the last one wins, or all are added."""
    y = x.copy()
    given = (i for i in (index0, index1, index2) if i is not None)
    places: Any = (*[slice(None)] * (dim % x.ndim), *given)
    if accumulate:
        np.add.at(y, places, src)
    else:
        y[places] = src
    return y


def index_copy(x: Array, dim: int, index: Indices, src: Array) -> Array:
    """x with slices replaced."""
    return index_put(x, index, None, None, src, dim, False)


def cache_update(cache: Array, src: Array, positions: Indices, dim: int, ring: bool) -> Array:
    """cache with src's slices at positions, or at the first one and those that follow."""
    y = np.moveaxis(cache.copy(), dim, 0)
    rows = np.moveaxis(src, dim, 0)
    for i, row in enumerate(rows):
        at = int(positions[i] if len(positions) == len(rows) else positions[0] + i)
        at = at % len(y) if ring and at >= 0 else at
        if 0 <= at < len(y):
            y[at] = row
    return np.moveaxis(y, 0, dim)


def index_add(x: Array, dim: int, index: Indices, src: Array, alpha: float) -> Array:
    """x with slices added."""
    return index_put(x, index, None, None, alpha * src, dim, True)


def scatter_nd(x: Array, index: Indices, src: Array, reduce: str) -> Array:
    """x with src at the coordinates that the last dim of index holds, one point after the other."""
    steps: dict[str, np.ufunc] = {
        "sum": np.add,
        "prod": np.multiply,
        "amax": np.maximum,
        "amin": np.minimum,
    }
    y = x.copy()
    for p in np.ndindex(*index.shape[:-1]):
        place = tuple(index[p])
        y[place] = steps[reduce](y[place], src[p]) if reduce in steps else src[p]
    return y


def gather_nd(x: Array, index: Indices, batch_dims: int) -> Array:
    """The parts of x at the coordinates that the last dim of index holds."""
    lead = index.shape[:-1]
    y = np.empty((*lead, *x.shape[batch_dims + index.shape[-1] :]), x.dtype)
    for p in np.ndindex(*lead):
        y[p] = x[(*p[:batch_dims], *index[p])]
    return y
