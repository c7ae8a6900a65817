"""The reference of art.kuwahara."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[Any]


def kuwahara(x: Array, radius: int) -> Array:
    """Quadrants are windows of the padded image. The first one of equal variance is selected."""
    size, (height, width) = radius + 1, x.shape[2:]
    padded = np.pad(x, [(0, 0), (0, 0), (radius, radius), (radius, radius)], mode="edge")
    windows: Array = sliding_window_view(padded, (size, size), (2, 3))  # type: ignore[call-overload]
    rows = [windows[:, :, top : top + height] for top in (0, radius)]
    quadrants = [row[:, :, :, left : left + width] for row in rows for left in (0, radius)]
    means = np.stack([quadrant.mean((-2, -1)) for quadrant in quadrants])
    variances = np.stack([quadrant.var((-2, -1)).sum(1, keepdims=True) for quadrant in quadrants])
    return np.asarray(np.take_along_axis(means, variances.argmin(0)[None], 0)[0])
