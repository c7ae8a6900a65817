"""The reference of art.kuwahara."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[Any]


def kuwahara(x: Array, radius: int) -> Array:
    """Each quadrant is a window of the padded image. The first one of equal variance is selected."""
    size, (height, width) = radius + 1, x.shape[2:]
    padded = np.pad(x, [(0, 0), (0, 0), (radius, radius), (radius, radius)], mode="edge")
    windows = sliding_window_view(padded, (size, size), axis=(2, 3))
    starts = [(top, left) for top in (0, radius) for left in (0, radius)]
    quadrants = [windows[:, :, t : t + height, l : l + width] for t, l in starts]
    means = np.stack([quadrant.mean((-2, -1)) for quadrant in quadrants])
    variances = np.stack([quadrant.var((-2, -1)).sum(1, keepdims=True) for quadrant in quadrants])
    return np.take_along_axis(means, variances.argmin(0)[None], 0)[0]
