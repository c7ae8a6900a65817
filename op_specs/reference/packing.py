"""The layouts that weights are packed into."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def pack_conv2d_weight(weight: Array, align: int) -> Array:
    """[O, I, …] to [O / 4, taps, I, 4], O padded to a multiple of 8, I to one of `align`."""
    out, channels, *window = weight.shape
    pads = [(0, -out % 8), (0, -channels % align), (0, 0)]
    padded = np.pad(weight.reshape(out, channels, int(np.prod(window))), pads)
    fours = padded.reshape(-1, 4, *padded.shape[1:])
    return fours.transpose(0, 3, 2, 1)


def pack_linear_weight(weight: Array) -> Array:
    """[out, in] to [in, out], `out` padded to a multiple of 8."""
    out, _ = weight.shape
    return np.pad(weight, [(0, -out % 8), (0, 0)]).T


def pack_recurrent_weight(weight: Array, gates: int) -> Array:
    """[gates units, in] to [in, units, gates], of several gates 4."""
    units, depth = len(weight) // gates, weight.shape[1]
    packed = weight.reshape(gates, units, depth).transpose(2, 1, 0)
    return np.pad(packed, [(0, 0), (0, 0), (0, 4 - gates if gates > 1 else 0)])
