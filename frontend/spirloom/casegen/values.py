"""Tensors of a test case: what a spec says about one, and the numbers it gets.

The numbers depend on the names of the op, case and argument alone, so a case that is added or changed
leaves the others as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spirloom.ir import Array, DType

DEFAULT_RANGES: dict[DType, tuple[float, float]] = {
    DType.F32: (-1, 1),
    DType.F16: (-1, 1),
    DType.I32: (-8, 8),
    DType.I8: (-8, 8),
    DType.U8: (0, 8),
    DType.B8: (0, 1),
}
KEYS = {"shape", "range", "values", "constant"}


class CaseError(Exception):
    """A test case that cannot be made; the message names the op, the case and the reason."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """What a case says about one tensor. `values` are repeated to fill the shape."""

    shape: tuple[int, ...]
    range: tuple[float, float] | None = None
    values: tuple[float, ...] | None = None
    constant: bool | None = None


def parse_tensor(value: object) -> TensorSpec:
    """From `[2, 3]` or `{shape: [2, 3], range: [0, 1], values: [...], constant: true}`."""
    if isinstance(value, list | tuple):
        return TensorSpec(tuple(int(size) for size in value))
    if not isinstance(value, Mapping) or "shape" not in value or not KEYS.issuperset(value):
        raise CaseError(f"{value!r} is neither a shape nor a map with keys among {sorted(KEYS)}.")
    limits, values, constant = (value.get(key) for key in ("range", "values", "constant"))
    return TensorSpec(
        shape=tuple(int(size) for size in value["shape"]),
        range=None if limits is None else (float(limits[0]), float(limits[1])),
        values=None if values is None else tuple(float(number) for number in values),
        constant=None if constant is None else bool(constant),
    )


def make_array(spec: TensorSpec, dtype: DType, seed: str) -> Array:
    """The tensor's numbers, already rounded to its dtype."""
    if spec.values is not None:
        return np.resize(np.array(spec.values), spec.shape).astype(dtype.numpy)
    digest = hashlib.sha256(seed.encode()).digest()
    random = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))
    low, high = spec.range or DEFAULT_RANGES[dtype]
    uniform = random.random(spec.shape)
    if dtype in (DType.F32, DType.F16):
        return np.asarray(low + (high - low) * uniform).astype(dtype.numpy)
    return np.floor(low + (high - low + 1) * uniform).astype(dtype.numpy)


def widened(array: Array) -> Array:
    """The same numbers in the type that references compute in: float64, int64 or bool."""
    match array.dtype.kind:
        case "f":
            return array.astype(np.float64)
        case "b":
            return array
        case _:
            return array.astype(np.int64)
