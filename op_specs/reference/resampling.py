"""2-D resampling."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def nearest2d(x: Array, output_size: list[int]) -> Array:
    """Output o takes input floor(o n / out)."""
    rows, columns = (
        np.arange(out) * n // out for n, out in zip(x.shape[2:], output_size, strict=True)
    )
    return x[:, :, rows[:, None], columns]


def _weights(n: int, out: int, align_corners: bool) -> Array:
    """The [out, n] matrix that resamples a line of n elements."""
    matrix = np.zeros((out, n))
    for o in range(out):
        if align_corners:
            at = o * (n - 1) / (out - 1) if out > 1 else 0.0
        else:
            at = max((o + 0.5) * n / out - 0.5, 0.0)
        low = min(int(at), n - 1)
        matrix[o, low] += 1 - (at - low)
        matrix[o, min(low + 1, n - 1)] += at - low
    return matrix


def bilinear2d(x: Array, output_size: list[int], align_corners: bool) -> Array:
    """Linear between the two nearest inputs in each direction."""
    rows, columns = (
        _weights(n, out, align_corners) for n, out in zip(x.shape[2:], output_size, strict=True)
    )
    return np.asarray(np.einsum("nchw,oh,pw->ncop", x, rows, columns))
