"""Resampling: upsampling and grid sampling."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _gather(x: Array, indices: list[NDArray[np.int64]]) -> Array:
    """The elements of x at the indices of each spatial dim."""
    for d, index in enumerate(indices):
        x = np.take(x, index, axis=2 + d)
    return x


def nearest(x: Array, output_size: list[int], *_: float) -> Array:
    """Output o is input floor(o n / out)."""
    sizes = zip(x.shape[2:], output_size, strict=True)
    return _gather(x, [np.arange(out) * n // out for n, out in sizes])


def nearest_exact(x: Array, output_size: list[int], *_: float) -> Array:
    """Output o is the input that contains its center."""
    sizes = zip(x.shape[2:], output_size, strict=True)
    return _gather(x, [(2 * np.arange(out) + 1) * n // (2 * out) for n, out in sizes])


def _weights(n: int, out: int, align_corners: bool, scale: float) -> Array:
    """The [out, n] matrix of linear interpolation along one dim."""
    matrix = np.zeros((out, n))
    for o in range(out):
        if align_corners:
            at = o * (n - 1) / (out - 1) if out > 1 else 0.0
        else:
            at = max((o + 0.5) * (1 / scale if scale else n / out) - 0.5, 0.0)
        low = min(int(at), n - 1)
        matrix[o, low] += 1 - (at - low)
        matrix[o, min(low + 1, n - 1)] += at - low
    return matrix


def linear(x: Array, output_size: list[int], align_corners: bool, *scales: float) -> Array:
    """Linear interpolation in each direction."""
    for d, (out, scale) in enumerate(zip(output_size, scales, strict=True)):
        weights = _weights(x.shape[2 + d], out, align_corners, scale)
        mixed = np.tensordot(x, weights, axes=(2 + d, 1)).astype(np.float64, copy=False)
        x = np.moveaxis(mixed, -1, 2 + d)
    return x


def cubic(distance: Array) -> Array:
    """Keys' cubic convolution kernel, a = -0.75."""
    a, d = -0.75, np.abs(distance)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _cubic_weights(n: int, out: int, align_corners: bool, scale: float) -> Array:
    """The [out, n] matrix of cubic interpolation along one dim, clamped at the border."""
    matrix = np.zeros((out, n))
    for o in range(out):
        if align_corners:
            at = o * (n - 1) / (out - 1) if out > 1 else 0.0
        else:
            at = (o + 0.5) * (1 / scale if scale else n / out) - 0.5
        taps = np.floor(at) + np.arange(-1, 3)
        np.add.at(matrix[o], taps.clip(0, n - 1).astype(int), cubic(taps - at))
    return matrix


def bicubic2d(
    x: Array, output_size: list[int], align_corners: bool, scales_h: float, scales_w: float
) -> Array:
    """Cubic interpolation in each direction; indices are clamped at the border."""
    rows, columns = (
        _cubic_weights(n, out, align_corners, scale)
        for n, out, scale in zip(x.shape[2:], output_size, (scales_h, scales_w), strict=True)
    )
    return np.asarray(np.einsum("nchw,oh,pw->ncop", x, rows, columns))


def _padded_coordinate(at: float, size: int, padding_mode: int, align_corners: bool) -> float:
    """A coordinate after padding: 0 zeros (unchanged), 1 border (clamped), 2 reflection."""
    if padding_mode == 2:
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        while high > low and not low <= at <= high:
            at = 2 * low - at if at < low else 2 * high - at
        at = at if high > low else 0.0
    return at if padding_mode == 0 else min(max(at, 0.0), size - 1.0)


def _taps(
    at: float, size: int, mode: int, padding_mode: int, align_corners: bool
) -> list[tuple[int, float]]:
    """The indices that contribute to a coordinate along one dim, with their weights."""
    at = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
    if mode != 2:
        at = _padded_coordinate(at, size, padding_mode, align_corners)
    low = int(np.floor(at))
    if mode == 1:
        return [(round(at), 1.0)]
    if mode == 0:
        return [(low, 1 - (at - low)), (low + 1, at - low)]
    return [
        (
            int(_padded_coordinate(i, size, padding_mode, align_corners)),
            float(cubic(np.array(i - at))),
        )
        for i in (low - 1, low, low + 1, low + 2)
    ]


def grid_sampler_2d(
    x: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """Samples each image at the grid's coordinates in [-1, 1]; pixels outside it are zero."""
    n, c, height, width = x.shape
    y = np.zeros((n, c, *grid.shape[1:3]))
    options = (interpolation_mode, padding_mode, align_corners)
    for b, h, w in np.ndindex(*grid.shape[:3]):
        columns = _taps(float(grid[b, h, w, 0]), width, *options)
        for row, row_weight in _taps(float(grid[b, h, w, 1]), height, *options):
            for column, column_weight in columns:
                if 0 <= row < height and 0 <= column < width:
                    y[b, :, h, w] += row_weight * column_weight * x[b, :, row, column]
    return y
