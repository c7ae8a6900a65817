"""Numbers from everywhere in a dtype, those that are handled apart above all."""

from __future__ import annotations

import numpy as np

from codegen.spec.case import EVERYTHING
from spirloom.ir import Array, DType

# Where rules change: signs, halves that are rounded to even, the ends of what float16, float32 and
# the integers hold exactly, and arguments that wind many times round a circle.
_TURNS = (0.5, 1, 1.5, 2, 2.5, 127.5, 2048.5, 2.0**23 + 1, 2.0**24 - 1, 2.0**24 + 2, 2.0**31)
_LARGE = (1e5, 1e6, 3e9, 1e10, 1e20, 1e30)
_WHOLE = (0, 1, 2, 7, 127, 128, 255, 256, 32767, 65536, 2**24 - 1, 2**24 + 1, 2**30)


def extreme_numbers(
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
