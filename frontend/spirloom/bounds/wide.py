"""Types that Spirloom lacks and those in their place; narrowing keeps every value the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from spirloom import interval
from spirloom.errors import Unsupported
from spirloom.interval import Interval
from spirloom.ir import Array, DType


def narrow_type(dtype: np.dtype[Any]) -> DType:
    """The type that computes for an element type: itself, or one of 32 bits in its place."""
    own = DType.of(dtype)
    if own is not None:
        return own
    if dtype.kind not in "iuf":
        raise Unsupported(f"the element type {dtype} is not supported")
    return DType.F32 if dtype.kind == "f" else DType.I32


def is_wide(dtype: np.dtype[Any]) -> bool:
    """Whether Spirloom has no such type, so that another one stands in for it."""
    return DType.of(dtype) is None


def exact_interval(dtype: np.dtype[Any]) -> Interval:
    """The numbers for which the type that stands in computes the same."""
    if dtype.kind == "f":
        return Interval(-(1 << 24), 1 << 24)
    own, ours = (interval.of_type(d) for d in (dtype, DType.I32.numpy))
    return Interval(max(own.low, ours.low), min(own.high, ours.high))


def narrowed(values: Array) -> Array:
    """The same values in a type Spirloom has; Unsupported if that would change one."""
    target = narrow_type(values.dtype).numpy
    if target == values.dtype:
        return values
    with np.errstate(over="ignore"):
        result = values.astype(target)
    changed = ~((result == values) | ((result != result) & (values != values)))
    if changed.any():
        example = values[changed].flat[0]
        remedy = "; accept its rounding with --float64-as-float32" if target.kind == "f" else ""
        raise Unsupported(
            f"a {values.dtype} constant holds {example}, which {target} cannot hold{remedy}"
        )
    return result
