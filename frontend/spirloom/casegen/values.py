"""Values of test tensors, also extreme ones, and expected results in the dtype of the output."""

from __future__ import annotations

import hashlib

import numpy as np

from spec_model.spec import TensorCase
from spec_model.spec.case import EVERYTHING
from spec_model.stored_float import decoded, encoded, float_format
from spirloom.ir import Array, DType

# Edge cases: ties that round to even, limits of exact integers in float16 and float32, and large
# arguments of periodic functions.
_EDGES = (0.5, 1, 1.5, 2, 2.5, 127.5, 2048.5, 2.0**23 + 1, 2.0**24 - 1, 2.0**24 + 2, 2.0**31)
_LARGE = (1e5, 1e6, 3e9, 1e10, 1e20, 1e30)
_INTEGERS = (0, 1, 2, 7, 127, 128, 255, 256, 32767, 65536, 2**24 - 1, 2**24 + 1, 2**30)


def extreme_values(
    random: np.random.Generator,
    shape: tuple[int, ...],
    dtype: DType,
    limits: tuple[float, float] = EVERYTHING,
) -> Array:
    """One third each of edge cases, of values from the full range, and of typical values.

    Values outside `limits` are replaced by random values within them.
    """
    pools = _floats if dtype.is_float else _integers
    pool = random.integers(3, size=shape)
    values = np.choose(pool, pools(random, shape, dtype))
    if limits != EVERYTHING:
        low, high = _representable(limits, dtype)
        inside = (values >= low) & (values <= high)
        values = np.where(inside, values, _between(random, shape, dtype, low, high))
    return _floats_of(values, dtype) if dtype.is_float else np.asarray(values, dtype=dtype.numpy)


def has_denormals(array: Array) -> bool:
    """Whether an element is denormal. Devices may flush it to zero."""
    return array.dtype.kind == "f" and bool(_denormal(array).any())


def without_denormals(array: Array) -> Array:
    """The array with denormals replaced by zeros of the same sign."""
    if array.dtype.kind != "f":
        return array
    return np.where(_denormal(array), np.copysign(array.dtype.type(0), array), array)


def _denormal(array: Array) -> Array:
    return np.asarray((array != 0) & (np.abs(array) < np.finfo(array.dtype).tiny))


def _representable(limits: tuple[float, float], dtype: DType) -> tuple[float, float]:
    """The limits rounded inward to values of the dtype."""
    if not dtype.is_float:
        ends = np.iinfo(dtype.numpy)
        return max(limits[0], float(ends.min)), min(limits[1], float(ends.max))
    if float_format(dtype) is not None:
        low, high = max(limits[0], dtype.row.min), min(limits[1], dtype.row.max)
        return _stored_limit(low, dtype, upward=True), _stored_limit(high, dtype, upward=False)
    largest = np.finfo(dtype.numpy).max
    low, high = np.clip(limits, -largest, largest).astype(dtype.numpy)
    # As Python floats: a comparison with a NumPy scalar would first round the limit.
    low = np.nextafter(low, high) if float(low) < limits[0] else low
    high = np.nextafter(high, low) if float(high) > limits[1] else high
    return float(low), float(high)


def _stored_limit(limit: float, dtype: DType, upward: bool) -> float:
    """The value of a stored float next to a finite limit: not below it, or not above it."""
    nearest = encoded(np.array([limit]), dtype)
    value = float(decoded(nearest, dtype)[0])
    if value < limit if upward else value > limit:
        code = nearest.view(f"u{nearest.dtype.itemsize}")
        # Computed by Python: NumPy 2 does not subtract from unsigned integers by adding -1.
        code[0] = int(code[0]) + (1 if (limit > 0) == upward else -1)
    return float(decoded(nearest, dtype)[0])


def _between(
    random: np.random.Generator, shape: tuple[int, ...], dtype: DType, low: float, high: float
) -> Array:
    if dtype.is_float:
        limit = _LARGE[-1]
        return random.uniform(max(low, -limit), min(high, limit), shape)
    return random.integers(int(low), int(high), shape, endpoint=True)


def _floats(random: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> list[Array]:
    form = float_format(dtype)
    if form is not None:
        smallest = (form.smallest_normal, form.denormal_step)
    else:
        limits = np.finfo(dtype.numpy)
        smallest = (float(limits.tiny), float(limits.smallest_subnormal))
    ends = [0, np.inf, dtype.row.max, *smallest, *_EDGES, *_LARGE]
    known = np.array([np.nan, *ends, *np.negative(np.array(ends, np.float64))])
    low, high = np.log2(smallest[0]), np.log2(dtype.row.max)
    sign = random.choice([-1.0, 1.0], shape)
    anywhere = sign * np.exp2(low + (high - low) * random.random(shape))
    return [random.choice(known, shape), anywhere, random.uniform(-4, 4, shape)]


def _integers(random: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> list[Array]:
    limits = np.iinfo(dtype.numpy)
    low, high = int(limits.min), int(limits.max)
    ends = (low, low + 1, high - 1, high, *_INTEGERS, *(-x for x in _INTEGERS))
    known = np.array([x for x in ends if low <= x <= high])
    return [
        random.choice(known, shape),
        random.integers(low, high, shape, endpoint=True),
        random.integers(max(low, -8), 8, shape, endpoint=True),
    ]


def _default_range(dtype: DType) -> tuple[float, float]:
    limit = 1 if dtype.is_float else 8
    return max(-limit, dtype.row.min), min(limit, dtype.row.max)


DEFAULT_RANGES: dict[DType, tuple[float, float]] = {dtype: _default_range(dtype) for dtype in DType}


class CaseError(Exception):
    """An invalid test case. The message gives the reason."""


def make_array(spec: TensorCase, dtype: DType, seed: str) -> Array:
    """The values of a tensor, rounded to its dtype."""
    if spec.values is not None:
        return _given(np.reshape(np.array(spec.values, np.float64), spec.shape), dtype)
    random = _generator(seed)
    if spec.extremes is not None and dtype is not DType.B8:
        return extreme_values(random, spec.shape, dtype, spec.extremes)
    low, high = spec.range or DEFAULT_RANGES[dtype]
    uniform = random.random(spec.shape)
    if dtype.is_float:
        return _floats_of(low + (high - low) * uniform, dtype)
    integers = np.floor(low + (high - low + 1) * uniform).astype(np.int64)
    return np.asarray(integers, dtype=dtype.numpy)


def _given(values: Array, dtype: DType) -> Array:
    """Explicit values in the dtype. Integers out of range wrap, floats become infinite."""
    if dtype.is_float:
        return _floats_of(values, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        wide = values.astype(np.int64) if dtype.numpy.kind in "iu" else values
        return wide.astype(dtype.numpy)


def _floats_of(values: Array, dtype: DType) -> Array:
    """Rounded to a float dtype."""
    if float_format(dtype) is not None:
        return encoded(values, dtype)
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=dtype.numpy)


def _generator(seed: str) -> np.random.Generator:
    digest = hashlib.sha256(seed.encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "little")))


def widened(array: Array) -> Array:
    """The values in the dtype for references: float64, int64 or bool."""
    dtype = DType.of(array.dtype)
    if dtype is not None and float_format(dtype) is not None:
        return decoded(array, dtype).astype(np.float64)
    match array.dtype.kind:
        case "f":
            return array.astype(np.float64)
        case "b":
            return array
        case _:
            return array.astype(np.int64)


def rounded(result: Array, dtype: DType, shape: tuple[int, ...]) -> Array:
    """The result in the output dtype. Raises CaseError for fractions in integer outputs."""
    if result.dtype.kind not in "biuf":
        raise CaseError(f"The reference returns {_described(result)}; expected a numeric array.")
    if result.shape != shape:
        raise CaseError(f"The reference returns the shape {result.shape}; the spec has {shape}.")
    if dtype.is_float:
        return np.ascontiguousarray(_floats_of(result, dtype)).reshape(shape)
    if result.dtype.kind == "f" and not np.array_equal(result, np.trunc(result)):
        raise CaseError(f"The reference returns fractions for an output of dtype {dtype}.")
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(result.astype(dtype.numpy)).reshape(shape)


def _described(result: Array) -> str:
    item = result.item() if result.dtype.kind == "O" and result.ndim == 0 else None
    return (
        f"an object of type {type(item).__name__}"
        if result.dtype.kind == "O"
        else (f"an array of {result.dtype}")
    )
