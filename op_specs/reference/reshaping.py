"""Rearrangements that are more than one NumPy expression."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def squeeze(x: Array, dim: list[int]) -> Array:
    """Drops those of the dims that have size 1."""
    return np.squeeze(x, axis=tuple(d for d in dim if x.shape[d] == 1))


def flatten(x: Array, start_dim: int, end_dim: int) -> Array:
    """Makes the dims from start_dim to end_dim one; a scalar becomes a vector."""
    if x.ndim == 0:
        return x.reshape(1)
    first, last = start_dim % x.ndim, end_dim % x.ndim
    merged = int(np.prod(x.shape[first : last + 1]))
    return x.reshape(*x.shape[:first], merged, *x.shape[last + 1 :])


def slice_dim(x: Array, dim: int, start: int, end: int, step: int) -> Array:
    """Python's slice along one dim."""
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def pixel_shuffle(x: Array, upscale_factor: int) -> Array:
    """Moves blocks of r r channels into r x r pixels."""
    r = upscale_factor
    *batch, c, h, w = x.shape
    parts = x.reshape(-1, c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(*batch, c // (r * r), h * r, w * r)


def constant_pad_nd(x: Array, pad: list[int], value: float) -> Array:
    """Pads with a constant, or cuts off where negative; pad goes from the last dim to the first."""
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2)
    pairs += list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    kept = x[
        tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))
    ]
    return np.pad(kept, [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=value)
