"""Values of test tensors (extremes included), and expected results in the output's dtype."""

from __future__ import annotations

import hashlib

import numpy as np

from codegen.spec import TensorCase
from codegen.spec.case import EVERYTHING
from spirloom.bfloat16 import bytes_of
from spirloom.ir import Array, DType

# Where rules change: signs, halves that are rounded to even, the ends of what float16, float32 and
# the integers hold exactly, and arguments that wind many times round a circle.
_TURNS = (0.5, 1, 1.5, 2, 2.5, 127.5, 2048.5, 2.0**23 + 1, 2.0**24 - 1, 2.0**24 + 2, 2.0**31)
_LARGE = (1e5, 1e6, 3e9, 1e10, 1e20, 1e30)
_WHOLE = (0, 1, 2, 7, 127, 128, 255, 256, 32767, 65536, 2**24 - 1, 2**24 + 1, 2**30)


def extreme_values(
    random: np.random.Generator,
    shape: tuple[int, ...],
    dtype: DType,
    limits: tuple[float, float] = EVERYTHING,
) -> Array:
    """A third known for trouble, a third from the whole range, a third as numbers mostly are.

    Where there are limits, what lies beyond them makes room for others from between them.
    """
    pools = _floats if dtype.is_float else _integers
    chosen = random.integers(3, size=shape)
    drawn = np.choose(chosen, pools(random, shape, dtype))
    if limits != EVERYTHING:
        low, high = _held(limits, dtype)
        inside = (drawn >= low) & (drawn <= high)
        drawn = np.where(inside, drawn, _between(random, shape, dtype, low, high))
    with np.errstate(over="ignore"):
        return np.asarray(drawn, dtype=dtype.numpy)


def has_denormals(array: Array) -> bool:
    """Whether it holds numbers that a device may take for zeros."""
    return array.dtype.kind == "f" and bool(_denormal(array).any())


def without_denormals(array: Array) -> Array:
    """The array with zeros in their places, of their signs."""
    if array.dtype.kind != "f":
        return array
    return np.where(_denormal(array), np.copysign(array.dtype.type(0), array), array)


def _denormal(array: Array) -> Array:
    return np.asarray((array != 0) & (np.abs(array) < np.finfo(array.dtype).tiny))


def _held(limits: tuple[float, float], dtype: DType) -> tuple[float, float]:
    """Limits that are numbers of the dtype, so that none between them is rounded beyond them."""
    if not dtype.is_float:
        ends = np.iinfo(dtype.numpy)
        return max(limits[0], float(ends.min)), min(limits[1], float(ends.max))
    largest = np.finfo(dtype.numpy).max
    low, high = np.clip(limits, -largest, largest).astype(dtype.numpy)
    # As Python's numbers: against a NumPy scalar the limit would be rounded first.
    low = np.nextafter(low, high) if float(low) < limits[0] else low
    high = np.nextafter(high, low) if float(high) > limits[1] else high
    return float(low), float(high)


def _between(
    random: np.random.Generator, shape: tuple[int, ...], dtype: DType, low: float, high: float
) -> Array:
    if dtype.is_float:
        limit = _LARGE[-1]
        return random.uniform(max(low, -limit), min(high, limit), shape)
    return random.integers(int(low), int(high), shape, endpoint=True)


def _floats(random: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> list[Array]:
    limits = np.finfo(dtype.numpy)
    ends = [0, np.inf, limits.max, limits.tiny, limits.smallest_subnormal, *_TURNS, *_LARGE]
    known = np.array([np.nan, *ends, *np.negative(np.array(ends, np.float64))])
    low, high = np.log2(limits.tiny), np.log2(limits.max)
    sign = random.choice([-1.0, 1.0], shape)
    anywhere = sign * np.exp2(low + (high - low) * random.random(shape))
    return [random.choice(known, shape), anywhere, random.uniform(-4, 4, shape)]


def _integers(random: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> list[Array]:
    limits = np.iinfo(dtype.numpy)
    low, high = int(limits.min), int(limits.max)
    ends = (low, low + 1, high - 1, high, *_WHOLE, *(-x for x in _WHOLE))
    known = np.array([x for x in ends if low <= x <= high])
    return [
        random.choice(known, shape),
        random.integers(low, high, shape, endpoint=True),
        random.integers(max(low, -8), 8, shape, endpoint=True),
    ]


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
        return extreme_values(random, spec.shape, dtype, spec.extremes)
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


def rounded(result: Array, dtype: DType, shape: tuple[int, ...]) -> Array:
    """The result as the op's output type has it. An integer output takes only whole numbers."""
    if result.dtype.kind not in "biuf":
        raise CaseError(f"The reference gives {_described(result)}, not numbers.")
    if result.shape != shape:
        raise CaseError(f"The reference gives the shape {result.shape}, the spec {shape}.")
    if dtype in (DType.F32, DType.F16):
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(result, dtype=dtype.numpy).reshape(shape)
    if result.dtype.kind == "f" and not np.array_equal(result, np.trunc(result)):
        raise CaseError(f"The reference gives fractions for an output of dtype {dtype}.")
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(result.astype(dtype.numpy)).reshape(shape)


def _described(result: Array) -> str:
    item = result.item() if result.dtype.kind == "O" and result.ndim == 0 else None
    return (
        f"an object of type {type(item).__name__}"
        if result.dtype.kind == "O"
        else (f"an array of {result.dtype}")
    )
