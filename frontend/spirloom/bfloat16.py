"""bfloat16 (the upper half of a float32), which NumPy does not support."""

from __future__ import annotations

import numpy as np

from spirloom.ir import Array


def from_bfloat16(bits: Array) -> Array:
    """Converts bfloat16 bit patterns (uint16) to float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def bytes_of(values: Array) -> Array:
    """Rounds to bfloat16 (to nearest even) and returns the bytes in little-endian order: uint8,
    with the last dimension twice as long. NaN stays NaN. Values beyond the maximum become
    infinite.
    """
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = np.where(np.isnan(values), bits | 1 << 22, bits + 0x7FFF + (bits >> 16 & 1))
    upper: Array = (rounded >> 16).astype("<u2")
    return upper.view(np.uint8)
