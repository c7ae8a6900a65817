"""Pooling over any number of trailing dims, window by window."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pooling import Windows, _windows

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def _each_window(
    x: Array, windows: list[Windows], reduce: Callable[[Array, list[Indices]], Array]
) -> Array:
    """Stacks reduce(part, places): part is what x has of a window, in one last dim."""
    dims = len(windows)
    lead, size = x.shape[: x.ndim - dims], x.shape[x.ndim - dims :]
    out = tuple(len(w) for w in windows)
    results = []
    for at in np.ndindex(*out):
        places = [windows[d][o] for d, o in enumerate(at)]
        inside = [p[(p >= 0) & (p < n)] for p, n in zip(places, size, strict=True)]
        at_places: Any = (..., *np.ix_(*inside))
        part = x[at_places]
        results.append(reduce(part.reshape(*lead, math.prod(part.shape[len(lead) :])), places))
    return np.stack(results, axis=-1).reshape(*lead, *out)


def _fixed(
    x: Array,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> list[Windows]:
    size = x.shape[x.ndim - len(kernel) :]
    given = zip(size, kernel, stride, padding, dilation, strict=True)
    return [_windows(*values, ceil_mode) for values in given]


def _adaptive(x: Array, output_size: list[int]) -> list[Windows]:
    """Output o covers the inputs from floor(o n / out) up to ceil((o + 1) n / out)."""
    size = x.shape[x.ndim - len(output_size) :]
    return [
        [np.arange(o * n // out, -(-(o + 1) * n // out)) for o in range(out)]
        for n, out in zip(size, output_size, strict=True)
    ]


def max_pool(
    x: Array,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> Array:
    """The greatest element of each window; padding does not count."""
    windows = _fixed(x, kernel_size, stride, padding, dilation, ceil_mode)
    return _each_window(x, windows, lambda part, _: np.asarray(part.max(axis=-1)))


def _with_indices(x: Array, windows: list[Windows]) -> tuple[Array, Array]:
    """The maxima, and where each lies in its plane: of NaNs the last."""
    size = x.shape[x.ndim - len(windows) :]

    def place(part: Array, places: list[Indices]) -> Array:
        inside = [p[(p >= 0) & (p < n)] for p, n in zip(places, size, strict=True)]
        flat = np.ravel_multi_index(tuple(np.meshgrid(*inside, indexing="ij")), size)
        nan = np.isnan(part)
        last_nan = part.shape[-1] - 1 - nan[..., ::-1].argmax(axis=-1)
        return np.asarray(
            flat.reshape(-1)[np.where(nan.any(axis=-1), last_nan, part.argmax(axis=-1))]
        )

    best = _each_window(x, windows, lambda part, _: np.asarray(part.max(axis=-1)))
    return best, _each_window(x, windows, place)


def max_pool_with_indices(
    x: Array,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> tuple[Array, Array]:
    """The greatest element of each window and its place in its plane."""
    return _with_indices(x, _fixed(x, kernel_size, stride, padding, dilation, ceil_mode))


def average_pool(
    x: Array,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int = 0,
) -> Array:
    """The mean of each window; what ceil_mode covers beyond the padding never counts."""
    size = x.shape[x.ndim - len(kernel_size) :]
    windows = _fixed(x, kernel_size, stride, padding, [1] * len(kernel_size), ceil_mode)

    def mean(part: Array, places: list[Indices]) -> Array:
        count = part.shape[-1]
        if count_include_pad:
            ends = zip(places, size, padding, strict=True)
            count = int(np.prod([np.sum(p < n + pad) for p, n, pad in ends]))
        return np.asarray(part.sum(axis=-1) / (divisor_override or count))

    return _each_window(x, windows, mean)


def norm_pool(
    x: Array,
    norm_type: float,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> Array:
    """The norm of each window."""
    windows = _fixed(x, kernel_size, stride, padding, dilation, ceil_mode)
    norm = lambda part, _: np.linalg.norm(part, norm_type, axis=-1)  # noqa: E731
    return _each_window(x, windows, norm)


def adaptive_avg(x: Array, output_size: list[int]) -> Array:
    """The mean of each window."""
    windows = _adaptive(x, output_size)
    return _each_window(x, windows, lambda part, _: np.asarray(part.mean(axis=-1)))


def adaptive_max(x: Array, output_size: list[int]) -> tuple[Array, Array]:
    """The greatest element of each window and its place in its plane."""
    return _with_indices(x, _adaptive(x, output_size))
