"""The numbers in a test case's tensors.

The numbers depend on the names of the op, case and argument alone, so a case that is added or
changed leaves the others as they were.
"""

from __future__ import annotations

import hashlib

import numpy as np

from codegen.spec import TensorCase
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
    """A test case that cannot be made; the message names the op, the case and the reason."""


def make_array(spec: TensorCase, dtype: DType, seed: str) -> Array:
    """The tensor's numbers, already rounded to its dtype."""
    if spec.values is not None:
        return np.asarray(np.resize(np.array(spec.values), spec.shape), dtype=dtype.numpy)
    digest = hashlib.sha256(seed.encode()).digest()
    random = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))
    low, high = spec.range or DEFAULT_RANGES[dtype]
    uniform = random.random(spec.shape)
    if dtype in (DType.F32, DType.F16):
        return np.asarray(low + (high - low) * uniform, dtype=dtype.numpy)
    whole = np.floor(low + (high - low + 1) * uniform).astype(np.int64)
    return np.asarray(whole, dtype=dtype.numpy)


def widened(array: Array) -> Array:
    """The same numbers in the type that references compute in: float64, int64 or bool."""
    match array.dtype.kind:
        case "f":
            return array.astype(np.float64)
        case "b":
            return array
        case _:
            return array.astype(np.int64)
