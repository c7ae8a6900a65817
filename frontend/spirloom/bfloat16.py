"""bfloat16, the upper half of a float32, which NumPy has no type for."""

from __future__ import annotations

import numpy as np

from spirloom.ir import Array


def from_bfloat16(bits: Array) -> Array:
    """The float32 numbers of which these, uint16, are the upper halves."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def bytes_of(values: Array) -> Array:
    """Numbers rounded to nearest, of two to the even one, as two bytes each, the lower one first:
    uint8, the last dim twice as long. What is no number stays none; what is beyond the greatest is
    infinite."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = np.where(np.isnan(values), bits | 1 << 22, bits + 0x7FFF + (bits >> 16 & 1))
    halves: Array = (rounded >> 16).astype("<u2")
    return halves.view(np.uint8)
