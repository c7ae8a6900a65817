"""2-D pooling, one window at a time."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Per output index along one dim, the input indices of its window, including padding.
Windows = list[NDArray[np.int64]]


def _windows(
    size: int, window: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> Windows:
    window_size = dilation * (window - 1) + 1
    end = size + padding - window_size + 1
    if ceil_mode:
        # A window may exceed the padding, but starts within the input or the padding before it.
        end = min(size, end + stride - 1)
    starts = range(-padding, end, stride)
    return [start + dilation * np.arange(window) for start in starts]


def _pool(
    x: Array, rows: Windows, columns: Windows, reduce: Callable[[Array, Windows], Array]
) -> Array:
    y = np.empty((*x.shape[:-2], len(rows), len(columns)))
    for h, row in enumerate(rows):
        for w, column in enumerate(columns):
            r = row[(row >= 0) & (row < x.shape[-2])]
            c = column[(column >= 0) & (column < x.shape[-1])]
            y[..., h, w] = reduce(x[..., r[:, None], c], [row, column])
    return y


def max_pool2d(
    x: Array,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> Array:
    """The maximum of each window; padding is ignored."""
    windows = [
        _windows(x.shape[d - 2], kernel_size[d], stride[d], padding[d], dilation[d], ceil_mode)
        for d in range(2)
    ]
    return _pool(x, windows[0], windows[1], lambda part, _: np.asarray(part.max(axis=(-2, -1))))


def avg_pool2d(
    x: Array,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int,
) -> Array:
    """The mean of each window; elements beyond the padding (ceil_mode) never count."""
    sizes = x.shape[-2:]
    windows = [
        _windows(sizes[d], kernel_size[d], stride[d], padding[d], 1, ceil_mode) for d in range(2)
    ]

    def mean(part: Array, indices: Windows) -> Array:
        count = part.shape[-2] * part.shape[-1]
        if count_include_pad:
            counts = [int(np.sum(i < sizes[d] + padding[d])) for d, i in enumerate(indices)]
            count = counts[0] * counts[1]
        return np.asarray(part.sum(axis=(-2, -1)) / (divisor_override or count))

    return _pool(x, windows[0], windows[1], mean)


def adaptive_avg_pool2d(x: Array, output_size: list[int]) -> Array:
    """The mean of each window; window o is [floor(o n / out), ceil((o + 1) n / out))."""
    windows = [
        [np.arange(o * n // out, -(-(o + 1) * n // out)) for o in range(out)]
        for n, out in zip(x.shape[-2:], output_size, strict=True)
    ]
    return _pool(x, windows[0], windows[1], lambda part, _: np.asarray(part.mean(axis=(-2, -1))))
