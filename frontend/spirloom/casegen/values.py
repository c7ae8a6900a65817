"""The numbers in a test case's tensors.

The numbers depend on the names of the op, case and argument alone, so a case that is added or
changed leaves the others as they were.
"""

from __future__ import annotations

import hashlib

import numpy as np

from codegen.spec import TensorCase
from spirloom.bfloat16 import bytes_of
from spirloom.casegen.extreme_numbers import extreme_numbers
from spirloom.ir import Array, DType

DEFAULT_RANGES: dict[DType, tuple[float, float]] = {
    DType.F32: (-1, 1),
    DType.F16: (-1, 1),
    DType.I32: (-8, 8),
    DType.I8: (-8, 8),
    DType.U8: (0, 8),
    DType.B8: (0, 1),
}


class CaseError(Exception):
    """A test case that cannot be made; the message says why."""


def make_array(spec: TensorCase, dtype: DType, seed: str) -> Array:
    """The tensor's numbers, already rounded to its dtype."""
    if spec.values is not None:
        return _given(np.reshape(np.array(spec.values, np.float64), spec.shape), dtype)
    random = _generator(seed)
    if spec.extremes is not None and dtype is not DType.B8:
        return extreme_numbers(random, spec.shape, dtype, spec.extremes)
    low, high = spec.bfloat16 or spec.range or DEFAULT_RANGES[dtype]
    if spec.bfloat16 is not None:
        count = (*spec.shape[:-1], spec.shape[-1] // 2)
        return bytes_of(low + (high - low) * random.random(count))
    uniform = random.random(spec.shape)
    if dtype.is_float:
        return np.asarray(low + (high - low) * uniform, dtype=dtype.numpy)
    whole = np.floor(low + (high - low + 1) * uniform).astype(np.int64)
    return np.asarray(whole, dtype=dtype.numpy)


def _given(values: Array, dtype: DType) -> Array:
    """Integers beyond the dtype's ends wrap; beyond float16's are infinities."""
    with np.errstate(over="ignore", invalid="ignore"):
        whole = values.astype(np.int64) if dtype.numpy.kind in "iu" else values
        return whole.astype(dtype.numpy)


def _generator(seed: str) -> np.random.Generator:
    digest = hashlib.sha256(seed.encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))


def widened(array: Array) -> Array:
    """The same numbers in the type that references compute in: float64, int64 or bool."""
    match array.dtype.kind:
        case "f":
            return array.astype(np.float64)
        case "b":
            return array
        case _:
            return array.astype(np.int64)
