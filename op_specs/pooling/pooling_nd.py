"""Pooling over any number of trailing dims, one window at a time."""

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
    """Stacks reduce(part, indices): the elements of a window, flattened, and its input indices."""
    dims = len(windows)
    lead, size = x.shape[: x.ndim - dims], x.shape[x.ndim - dims :]
    out = tuple(len(w) for w in windows)
    results = []
    for at in np.ndindex(*out):
        indices = [windows[d][o] for d, o in enumerate(at)]
        inside = [i[(i >= 0) & (i < n)] for i, n in zip(indices, size, strict=True)]
        elements: Any = (..., *np.ix_(*inside))
        part = x[elements]
        results.append(reduce(part.reshape(*lead, math.prod(part.shape[len(lead) :])), indices))
    return np.stack(results, axis=-1).reshape(*lead, *out)


def _strided_windows(
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


def _adaptive_windows(x: Array, output_size: list[int]) -> list[Windows]:
    """Window o is [floor(o n / out), ceil((o + 1) n / out))."""
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
    """The maximum of each window; padding is ignored."""
    windows = _strided_windows(x, kernel_size, stride, padding, dilation, ceil_mode)
    return _each_window(x, windows, lambda part, _: np.asarray(part.max(axis=-1)))


def _with_indices(x: Array, windows: list[Windows]) -> tuple[Array, Array]:
    """The maxima, and their flat indices in the plane; the last NaN if there is one."""
    size = x.shape[x.ndim - len(windows) :]

    def max_index(part: Array, indices: list[Indices]) -> Array:
        inside = [i[(i >= 0) & (i < n)] for i, n in zip(indices, size, strict=True)]
        flat = np.ravel_multi_index(tuple(np.meshgrid(*inside, indexing="ij")), size)
        nan = np.isnan(part)
        last_nan = part.shape[-1] - 1 - nan[..., ::-1].argmax(axis=-1)
        return np.asarray(
            flat.reshape(-1)[np.where(nan.any(axis=-1), last_nan, part.argmax(axis=-1))]
        )

    best = _each_window(x, windows, lambda part, _: np.asarray(part.max(axis=-1)))
    return best, _each_window(x, windows, max_index)


def max_pool_with_indices(
    x: Array,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    ceil_mode: bool,
) -> tuple[Array, Array]:
    """The maximum of each window and its flat index in the plane."""
    return _with_indices(x, _strided_windows(x, kernel_size, stride, padding, dilation, ceil_mode))


def average_pool(
    x: Array,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int = 0,
) -> Array:
    """The mean of each window; elements beyond the padding (ceil_mode) never count."""
    size = x.shape[x.ndim - len(kernel_size) :]
    windows = _strided_windows(x, kernel_size, stride, padding, [1] * len(kernel_size), ceil_mode)

    def mean(part: Array, indices: list[Indices]) -> Array:
        count = part.shape[-1]
        if count_include_pad:
            dims = zip(indices, size, padding, strict=True)
            count = int(np.prod([np.sum(i < n + pad) for i, n, pad in dims]))
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
    """The p-norm of each window."""
    windows = _strided_windows(x, kernel_size, stride, padding, dilation, ceil_mode)
    norm = lambda part, _: np.linalg.norm(part, norm_type, axis=-1)  # noqa: E731
    return _each_window(x, windows, norm)


def adaptive_avg(x: Array, output_size: list[int]) -> Array:
    """The mean of each window."""
    windows = _adaptive_windows(x, output_size)
    return _each_window(x, windows, lambda part, _: np.asarray(part.mean(axis=-1)))


def adaptive_max(x: Array, output_size: list[int]) -> tuple[Array, Array]:
    """The maximum of each window and its flat index in the plane."""
    return _with_indices(x, _adaptive_windows(x, output_size))
