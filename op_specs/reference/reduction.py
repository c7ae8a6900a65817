"""Reductions that are more than one NumPy expression."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mean(x: Array, dim: list[int], keepdim: bool) -> Array:
    """The mean over dims; NaN of nothing."""
    with np.errstate(invalid="ignore"):
        total = x.sum(axis=tuple(dim) or None, keepdims=keepdim)
        return np.asarray(total / (x.size / total.size if total.size else 1))


def log_softmax(x: Array, dim: int) -> Array:
    """x - log(sum(exp(x))) along dim."""
    if x.size == 0:
        return x
    off = x - x.max(axis=dim, keepdims=True)
    return np.asarray(off - np.log(np.exp(off).sum(axis=dim, keepdims=True)))


def softmax(x: Array, dim: int) -> Array:
    """exp(x) / sum(exp(x)) along dim."""
    return np.exp(log_softmax(x, dim))


def safe_softmax(x: Array, dim: int) -> Array:
    """The softmax; 0 where all along dim is -inf."""
    nothing = np.isneginf(x).all(axis=dim, keepdims=True)
    return np.where(nothing, 0, softmax(np.where(nothing, 0, x), dim))


def var(x: Array, dim: list[int], correction: float, keepdim: bool) -> Array:
    """Squares off the mean over (count - correction); NaN or inf where that is not positive."""
    with np.errstate(all="ignore"):
        off = x - mean(x, dim, True)
        total = (off * off).sum(axis=tuple(dim) or None, keepdims=keepdim)
        count = x.size / total.size if total.size else 1
        return np.asarray(total / np.maximum(count - correction, 0))


def std(x: Array, dim: list[int], correction: float, keepdim: bool) -> Array:
    """The root of the variance."""
    return np.sqrt(var(x, dim, correction, keepdim))


def logsumexp(x: Array, dim: list[int], keepdim: bool) -> Array:
    """log(sum(exp(x))) over dims."""
    return np.asarray(np.logaddexp.reduce(_last(x, dim), axis=-1)).reshape(
        _reduced_shape(x, dim, keepdim)
    )


def vector_norm(x: Array, ord: float, dim: list[int], keepdim: bool) -> Array:
    """NumPy's norm of vectors."""
    rows = _last(x, dim)
    flat = rows.reshape(int(np.prod(rows.shape[:-1])), rows.shape[-1])
    norms = np.array([np.linalg.norm(row, ord) for row in flat])
    return norms.reshape(_reduced_shape(x, dim, keepdim))


def distances(a: Array, b: Array, p: float) -> Array:
    """NumPy's norms of the differences of rows."""
    return np.asarray(np.linalg.norm(a[..., :, None, :] - b[..., None, :, :], p, axis=-1))


def argmax(x: Array, dim: list[int], keepdim: bool) -> NDArray[np.int64]:
    """The place of the greatest element."""
    return np.asarray(np.argmax(x, axis=dim[0] if dim else None, keepdims=keepdim))


def argmin(x: Array, dim: list[int], keepdim: bool) -> NDArray[np.int64]:
    """The place of the least element."""
    return np.asarray(np.argmin(x, axis=dim[0] if dim else None, keepdims=keepdim))


def _last(x: Array, dim: list[int]) -> Array:
    """x with the dims made one, the last."""
    dims = [d % x.ndim for d in dim] or list(range(x.ndim))
    kept = [d for d in range(x.ndim) if d not in dims]
    count = int(np.prod([x.shape[d] for d in dims]))
    return x.transpose(kept + dims).reshape([x.shape[d] for d in kept] + [count])


def _reduced_shape(x: Array, dim: list[int], keepdim: bool) -> list[int]:
    dims = [d % x.ndim for d in dim] or list(range(x.ndim))
    return [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
