"""Known bounds of tensor values, and the narrower types that replace unsupported ones (int64)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spec_model import interval
from spec_model.interval import EVERYTHING, Interval
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType


def narrow_type(dtype: np.dtype[Any]) -> DType:
    """The dtype that computes an element type: the type itself, or a 32-bit replacement."""
    own = DType.of(dtype)
    if own is not None:
        return own
    if dtype.kind not in "iuf":
        raise Unsupported(f"the element type {dtype} is not supported")
    return DType.F32 if dtype.kind == "f" else DType.I32


def is_wide(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is not supported and is replaced."""
    return DType.of(dtype) is None


def exact_interval(dtype: np.dtype[Any]) -> Interval:
    """The values for which the replacement type computes the same results."""
    if dtype.kind == "f":
        return Interval(-(1 << 24), 1 << 24)
    own, replacement = (interval.of_type(d) for d in (dtype, DType.I32.numpy))
    return Interval(max(own.low, replacement.low), min(own.high, replacement.high))


def narrowed(values: Array, rounds_float64: bool = False) -> Array:
    """The same values in a supported type. Raises Unsupported if a value would change.

    `rounds_float64`: float64 values are rounded to float32.
    """
    target = narrow_type(values.dtype).numpy
    if target == values.dtype:
        return values
    with np.errstate(over="ignore"):
        result = values.astype(target)
    if rounds_float64 and values.dtype == np.float64:
        return result
    changed = ~((result == values) | ((result != result) & (values != values)))
    if changed.any():
        example = values[changed].flat[0]
        remedy = "; accept its rounding with --float64-as-float32 (float64_as_float32=True)"
        remedy = remedy if target.kind == "f" else ""
        raise Unsupported(
            f"its {values.dtype} constant {example} is not representable in {target}{remedy}"
        )
    return result


# Floats beyond these bounds are too coarse to bound integers computed from them.
_INTEGER_FLOATS = Interval(-(1 << 24), 1 << 24, integral=False)


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The type of a tensor in the model and the range of its values."""

    dtype: np.dtype[Any]
    bounds: Interval

    @property
    def exact(self) -> bool:
        """Whether the replacement type computes the same results."""
        return not is_wide(self.dtype) or self.bounds.within(exact_interval(self.dtype))


def known_of(ours: DType, dtype: np.dtype[Any] | None, bounds: Interval) -> ValueRange:
    """The range of an output. `dtype` is its type in the model, if it differs from `ours`."""
    if dtype is not None and is_wide(dtype):
        return ValueRange(dtype, bounds)
    limits = interval.of_type(ours.numpy) if ours.numpy.kind != "f" else _INTEGER_FLOATS
    return ValueRange(ours.numpy, bounds if bounds.within(limits) else interval.of_type(ours.numpy))


def reason_against(name: str, ours: DType, values: ValueRange) -> str:
    """Why the replacement dtype is not exact for a tensor with this range, and the remedy."""
    if values.dtype.kind == "f":
        return (
            f"'{name}' is {values.dtype} and would be computed in {ours.long_name}, with different "
            "results. Accept the rounding with --float64-as-float32 (float64_as_float32=True in "
            "Python)"
        )
    known = "has no known bounds"
    if values.bounds != EVERYTHING:
        known = f"is only known to be in {values.bounds}"
    return (
        f"'{name}' is {values.dtype} and {known}, but its replacement {ours.long_name} represents "
        f"{exact_interval(values.dtype)}. Set smaller bounds of the model's inputs with "
        "--range NAME=LOW..HIGH (ranges= in Python), or assume that all values fit with "
        "--assume-int32 (assume_int32=True in Python)"
    )
