"""How far a computed array is from the expected one, and whether this is more than rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spec_model.stored_float import decoded, float_format
from spirloom.comparison import difference
from spirloom.ir import Array, DType

# Allowed ‖found - expected‖ / ‖expected‖ of one node whose operands are equal, and of a node after
# many others, whose errors accumulate.
OF_ONE_NODE = {DType.F32: 1e-4, DType.F16: 4e-3, DType.BF16: 3e-2}
ACCUMULATED = {DType.F32: 1e-3, DType.F16: 3e-2, DType.BF16: 1e-1}
_OTHER_FLOATS = 2e-1  # of 8 bits
# A single element may differ by this many tolerances: of itself, and of the root mean square.
_ELEMENT, _RMS = 10, 100
# The absolute error where zeros are expected.
_OF_ZERO = 1e-6
# The share of integers and bools that may differ after floats that were rounded otherwise.
_UNEQUAL = 0.01


@dataclass(frozen=True, slots=True)
class Measured:
    """The error of an array. `wrong`: it exceeds the tolerance."""

    max_abs: float
    relative: float  # ‖found - expected‖ / ‖expected‖
    sqnr: float  # dB
    nan: int  # elements that are NaN in one array
    inf: int  # elements that are infinite in one array
    at: tuple[int, ...]  # the element with the largest error
    wrong: bool


def default_tolerance(dtype: DType, accumulated: bool) -> float:
    """The allowed relative error of results of this dtype."""
    table = ACCUMULATED if accumulated else OF_ONE_NODE
    if dtype in table:
        return table[dtype]
    return _OTHER_FLOATS if dtype.is_float else 0.0


def measure(found: Array, expected: Array, tolerance: float, accumulated: bool) -> Measured:
    """Compares two arrays of one shape. Elements that are equal, also NaNs, have no error.

    Floats are wrong if the relative error of the array or the error of one element exceeds the
    tolerance, or if only one of two elements is finite. Integers and bools are wrong if any
    differs; with `accumulated`, if more than 1 % differ.
    """
    x, y = wide(found), wide(expected)
    metrics = difference("", y, x)
    with np.errstate(all="ignore"):
        error = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
    error = np.where(np.isnan(error), np.inf, error)
    at = np.unravel_index(int(error.argmax()), error.shape) if error.size else ()
    if found.dtype.kind in "fV":  # V: a float that NumPy does not have
        wrong = _is_wrong(error, y, metrics.relative, tolerance)
    else:
        share = _UNEQUAL if accumulated else 0.0
        wrong = bool(error.size) and float((error > 0).mean()) > share
    return Measured(
        max_abs=metrics.max_abs,
        relative=metrics.relative,
        sqnr=metrics.sqnr,
        nan=int((np.isnan(x) != np.isnan(y)).sum()),
        inf=int((np.isinf(x) != np.isinf(y)).sum()),
        at=tuple(map(int, at)),
        wrong=wrong,
    )


def _is_wrong(error: Array, expected: Array, relative: float, tolerance: float) -> bool:
    finite = expected[np.isfinite(expected)]
    scale = float(np.abs(finite).max(initial=0.0)) or 1.0
    rms = scale * math.sqrt(float(np.mean(np.square(finite / scale)))) if finite.size else 0.0
    magnitude = np.where(np.isfinite(expected), np.abs(expected), 0.0)
    # Expected zeros: the absolute error decides.
    allowed = np.maximum(tolerance * (_ELEMENT * magnitude + _RMS * rms), _OF_ZERO)
    return bool((error > allowed).any()) or (relative > tolerance and rms > _OF_ZERO)


def wide(array: Array) -> Array:
    """The numbers of an array as float64, also of a float that NumPy does not have."""
    dtype = DType.of(array.dtype)
    if dtype is not None and float_format(dtype) is not None:
        array = decoded(array, dtype)
    return np.asarray(array, np.float64)
