"""Reductions, scans and softmax."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mean(x: Array, dim: list[int], keepdim: bool) -> Array:
    """The mean over dims; NaN for no elements."""
    with np.errstate(invalid="ignore"):
        total = x.sum(axis=tuple(dim) or None, keepdims=keepdim)
        return np.asarray(total / (x.size / total.size if total.size else 1))


def log_softmax(x: Array, dim: int) -> Array:
    """x - log(sum(exp(x))) along dim."""
    if x.size == 0:
        return x
    shifted = x - x.max(axis=dim, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True)))


def softmax(x: Array, dim: int) -> Array:
    """exp(x) / sum(exp(x)) along dim."""
    return np.exp(log_softmax(x, dim))


def safe_softmax(x: Array, dim: int) -> Array:
    """The softmax along dim; 0 where all elements are -inf."""
    empty = np.isneginf(x).all(axis=dim, keepdims=True)
    return np.where(empty, 0, softmax(np.where(empty, 0, x), dim))


def var(x: Array, dim: list[int], correction: float, keepdim: bool) -> Array:
    """sum((x - mean)²) / (count - correction); NaN or inf if the divisor is not positive."""
    with np.errstate(all="ignore"):
        centered = x - mean(x, dim, True)
        total = (centered * centered).sum(axis=tuple(dim) or None, keepdims=keepdim)
        count = x.size / total.size if total.size else 1
        return np.asarray(total / np.maximum(count - correction, 0))


def std(x: Array, dim: list[int], correction: float, keepdim: bool) -> Array:
    """sqrt(var(x))"""
    return np.sqrt(var(x, dim, correction, keepdim))


def logsumexp(x: Array, dim: list[int], keepdim: bool) -> Array:
    """log(sum(exp(x))) over dims."""
    return np.asarray(np.logaddexp.reduce(_merge_dims(x, dim), axis=-1)).reshape(
        _reduced_shape(x, dim, keepdim)
    )


def vector_norm(x: Array, ord: float, dim: list[int], keepdim: bool) -> Array:
    """The p-norm over dims, by NumPy."""
    rows = _merge_dims(x, dim)
    flat = rows.reshape(int(np.prod(rows.shape[:-1])), rows.shape[-1])
    norms = np.array([np.linalg.norm(row, ord) for row in flat])
    return norms.reshape(_reduced_shape(x, dim, keepdim))


def cdist(a: Array, b: Array, p: float) -> Array:
    """The p-norm distance between each row of a and each row of b, by NumPy."""
    return np.asarray(np.linalg.norm(a[..., :, None, :] - b[..., None, :, :], p, axis=-1))


def argmax(x: Array, dim: list[int], keepdim: bool) -> NDArray[np.int64]:
    """The index of the maximum along dim[0], or in the flattened tensor."""
    return np.asarray(np.argmax(x, axis=dim[0] if dim else None, keepdims=keepdim))


def argmin(x: Array, dim: list[int], keepdim: bool) -> NDArray[np.int64]:
    """The index of the minimum along dim[0], or in the flattened tensor."""
    return np.asarray(np.argmin(x, axis=dim[0] if dim else None, keepdims=keepdim))


def max_dim(x: Array, dim: int, keepdim: bool) -> tuple[Array, NDArray[np.int64]]:
    """The maximum along dim and its first index."""
    return np.max(x, axis=dim, keepdims=keepdim), np.argmax(x, axis=dim, keepdims=keepdim)


def min_dim(x: Array, dim: int, keepdim: bool) -> tuple[Array, NDArray[np.int64]]:
    """The minimum along dim and its first index."""
    return np.min(x, axis=dim, keepdims=keepdim), np.argmin(x, axis=dim, keepdims=keepdim)


def cummax(x: Array, dim: int) -> tuple[Array, NDArray[np.int64]]:
    """The cumulative maximum and its last index; NaN propagates."""
    return _cumulative(x, dim, np.maximum)


def cummin(x: Array, dim: int) -> tuple[Array, NDArray[np.int64]]:
    """The cumulative minimum and its last index; NaN propagates."""
    return _cumulative(x, dim, np.minimum)


def _cumulative(x: Array, dim: int, ufunc: np.ufunc) -> tuple[Array, NDArray[np.int64]]:
    values = ufunc.accumulate(x, axis=dim)
    indices = np.indices(x.shape)[dim % x.ndim]
    hit = np.where((x == values) | np.isnan(x), indices, 0)
    return values, np.maximum.accumulate(hit, axis=dim)


def _merge_dims(x: Array, dim: list[int]) -> Array:
    """x with the dims, or all, merged into one, the last."""
    dims = [d % x.ndim for d in dim] or list(range(x.ndim))
    kept = [d for d in range(x.ndim) if d not in dims]
    count = int(np.prod([x.shape[d] for d in dims]))
    return x.transpose(kept + dims).reshape([x.shape[d] for d in kept] + [count])


def _reduced_shape(x: Array, dim: list[int], keepdim: bool) -> list[int]:
    dims = [d % x.ndim for d in dim] or list(range(x.ndim))
    return [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]


_PARTIAL_UFUNCS: dict[str, np.ufunc] = {
    "min": np.minimum,
    "max": np.maximum,
    "prod": np.multiply,
    "logaddexp": np.logaddexp,
}


def partial_reduce(x: Array, count: int, inner: int, splits: int, kind: str) -> Array:
    """Reductions of the parts of the middle dimension of x as [outer, count, inner]."""
    rows = x.reshape(-1, count, inner)
    length = -(-count // splits)
    start = {"min": np.inf, "max": -np.inf, "prod": 1, "logaddexp": -np.inf}.get(kind, 0)
    if kind in ("min", "max") and x.dtype.kind != "f":
        limits = np.iinfo(np.int32)
        start = limits.max if kind == "min" else limits.min
    if kind == "absolute":
        rows = np.abs(rows)
    elif kind == "square":
        rows = np.square(rows)
    y = np.full((rows.shape[0], splits, inner), start, dtype=x.dtype)
    for part in range(splits):
        values = rows[:, part * length : (part + 1) * length]
        if values.size:
            ufunc = _PARTIAL_UFUNCS.get(kind, np.add)
            y[:, part] = ufunc.reduce(values, axis=1)
    return y


def partial_argmax(
    x: Array, count: int, inner: int, splits: int, smallest: bool, last: bool
) -> Array:
    """Index in its row of the best element of each part; an empty part has the last index."""
    rows = x.reshape(-1, count, inner)
    length = -(-count // splits)
    y = np.full((rows.shape[0], splits, inner), count - 1)
    for part in range(splits):
        values = rows[:, part * length : (part + 1) * length]
        if values.size:
            ordered = values[:, ::-1] if last else values
            index = (np.argmin if smallest else np.argmax)(ordered, axis=1)
            y[:, part] = part * length + (values.shape[1] - 1 - index if last else index)
    return y
