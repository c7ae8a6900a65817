"""Arithmetic of int64 values that are pairs of int32 in the last dimension."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spec_model.vocabulary import DType

Array = NDArray[Any]

_INT32 = np.iinfo(np.int32)


def _join(x: Array) -> NDArray[np.int64]:
    """The values of pairs (low word, high word)."""
    return np.asarray((x[..., 1] << 32) | (x[..., 0] & 0xFFFFFFFF), np.int64)


def _split(values: Array) -> Array:
    """Pairs of values."""
    low = (values & 0xFFFFFFFF).astype(np.uint32).astype(np.int32)
    return np.stack([low, values >> 32], axis=-1).astype(np.int64)


def int64_add(a: Array, b: Array) -> Array:
    """a + b"""
    return _split(_join(a) + _join(b))


def int64_sub(a: Array, b: Array) -> Array:
    """a - b"""
    return _split(_join(a) - _join(b))


def int64_mul(a: Array, b: Array) -> Array:
    """a * b"""
    return _split(_join(a) * _join(b))


def int64_maximum(a: Array, b: Array) -> Array:
    """max(a, b)"""
    return _split(np.maximum(_join(a), _join(b)))


def int64_minimum(a: Array, b: Array) -> Array:
    """min(a, b)"""
    return _split(np.minimum(_join(a), _join(b)))


def int64_floor_divide(a: Array, b: Array) -> Array:
    """floor(a / b); 0 for b = 0"""
    with np.errstate(divide="ignore", over="ignore"):
        return _split(np.floor_divide(_join(a), _join(b)))


def int64_remainder(a: Array, b: Array) -> Array:
    """The remainder of floored division; 0 for b = 0"""
    with np.errstate(divide="ignore", over="ignore"):
        return _split(np.remainder(_join(a), _join(b)))


def int64_fmod(a: Array, b: Array) -> Array:
    """The remainder of truncated division; 0 for b = 0"""
    with np.errstate(divide="ignore", over="ignore"):
        return _split(np.fmod(_join(a), _join(b)))


def int64_bitwise_and(a: Array, b: Array) -> Array:
    """a & b"""
    return _split(_join(a) & _join(b))


def int64_bitwise_or(a: Array, b: Array) -> Array:
    """a | b"""
    return _split(_join(a) | _join(b))


def int64_bitwise_xor(a: Array, b: Array) -> Array:
    """a ^ b"""
    return _split(_join(a) ^ _join(b))


def int64_eq(a: Array, b: Array) -> Array:
    """a == b"""
    return np.equal(_join(a), _join(b))


def int64_ne(a: Array, b: Array) -> Array:
    """a != b"""
    return np.not_equal(_join(a), _join(b))


def int64_lt(a: Array, b: Array) -> Array:
    """a < b"""
    return np.less(_join(a), _join(b))


def int64_le(a: Array, b: Array) -> Array:
    """a <= b"""
    return np.less_equal(_join(a), _join(b))


def int64_gt(a: Array, b: Array) -> Array:
    """a > b"""
    return np.greater(_join(a), _join(b))


def int64_ge(a: Array, b: Array) -> Array:
    """a >= b"""
    return np.greater_equal(_join(a), _join(b))


def int64_sum(x: Array, dim: int) -> Array:
    """The sum along dim."""
    return _split(np.asarray(np.sum(_join(x), axis=dim)))


def int64_amax(x: Array, dim: int) -> Array:
    """The maximum along dim."""
    return _split(np.asarray(np.max(_join(x), axis=dim)))


def int64_amin(x: Array, dim: int) -> Array:
    """The minimum along dim."""
    return _split(np.asarray(np.min(_join(x), axis=dim)))


def int64_cumsum(x: Array, dim: int) -> Array:
    """The cumulative sum along dim."""
    return _split(np.cumsum(_join(x), axis=dim))


def int64_widen(x: Array) -> Array:
    """x as pairs; floats out of range and NaN become the minimum."""
    if x.dtype.kind == "f":
        inside = np.abs(x) < 2.0**63  # false for NaN
        return _split(np.where(inside, np.where(inside, x, 0), -(2.0**63)).astype(np.int64))
    return _split(x.astype(np.int64))


def int64_index(x: Array) -> Array:
    """The values, limited to those of int32."""
    return np.clip(_join(x), _INT32.min, _INT32.max)


def int64_to(x: Array, dtype: str) -> Array:
    """The values in another dtype. float32 is rounded once, which float64 would not be."""
    values = _join(x)
    if dtype in ("f32", "f16"):
        return values.astype(np.float32).astype(np.float64)
    return values.astype(DType(dtype).numpy)
