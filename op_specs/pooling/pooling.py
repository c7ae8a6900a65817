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


def roi_align(
    x: Array, rois: Array, spatial_scale: float, pooled_height: int, pooled_width: int,
    sampling_ratio: int, aligned: bool,
) -> Array:  # fmt: skip
    """A product of two matrices per region: the mean of its samples by row, and by column."""
    y = np.zeros((len(rois), x.shape[1], pooled_height, pooled_width))
    for k, (image, x0, y0, x1, y1) in enumerate(rois):
        rows, columns = (
            _cell_means(
                low * spatial_scale, high * spatial_scale, size, cells, sampling_ratio, aligned
            )
            for low, high, size, cells in (
                (y0, y1, x.shape[2], pooled_height),
                (x0, x1, x.shape[3], pooled_width),
            )
        )
        y[k] = rows @ x[int(image)] @ columns.T
    return y


def _cell_means(low: float, high: float, size: int, cells: int, ratio: int, aligned: bool) -> Array:
    """The [cells, size] matrix of the mean of bilinear samples in each cell along one dim."""
    matrix = np.zeros((cells, size))
    start = low - 0.5 if aligned else low
    cell = (high - low if aligned else max(high - low, 1.0)) / max(cells, 1)
    count = ratio if ratio > 0 else max(int(np.ceil(cell)), 0)
    for c, i in np.ndindex(cells, count):
        at = start + cell * (c + (i + 0.5) / count)
        if -1 <= at <= size:
            at = min(max(at, 0.0), size - 1.0)
            matrix[c, int(at)] += (1 - at % 1) / count
            matrix[c, min(int(at) + 1, size - 1)] += at % 1 / count
    return matrix
