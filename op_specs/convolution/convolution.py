"""2-D convolution: einsum over sliding windows."""

import numpy as np
from numpy.typing import NDArray

from ..elementwise.elementwise import activate

Array = NDArray[np.float64]


def convolution(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    activation: int,
    act_min: float,
    act_max: float,
    addend: Array | None,
) -> Array:
    """activation(conv2d(x, weight) + bias + addend)"""
    out_channels, group_in, rows, columns = weight.shape
    window_size = [dilation[0] * (rows - 1) + 1, dilation[1] * (columns - 1) + 1]
    padded = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    windows = np.lib.stride_tricks.sliding_window_view(padded, window_size, axis=(2, 3))  # type: ignore[call-overload]
    windows = windows[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]
    group_out = out_channels // groups
    parts = [
        np.einsum(
            "nchwij,ocij->nohw",
            windows[:, g * group_in : (g + 1) * group_in],
            weight[g * group_out : (g + 1) * group_out],
            optimize=True,
        )
        for g in range(groups)
    ]
    y = np.concatenate(parts, axis=1)
    if bias is not None:
        y = y + bias.reshape(1, -1, 1, 1)
    if addend is not None:
        y = y + addend
    return activate(y, activation, act_min, act_max)


def convolution_k_slices(
    x: Array,
    weight: Array,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    slices: int,
) -> Array:
    """The sums of conv2d(x, weight) over slices of the input channels, of a multiple of 32 each."""
    channels = -(-x.shape[1] // (32 * slices)) * 32
    sums = []
    for s in range(slices):
        part = slice(s * channels, (s + 1) * channels)
        sums.append(
            convolution(
                x[:, part],
                weight[:, part],
                None,
                stride,
                padding,
                dilation,
                False,
                [0, 0],
                1,
                0,
                0.0,
                0.0,
                None,
            )
        )
    return np.stack(sums)
