"""N-D convolution and transposed convolution, as sums over the taps of the window."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _add_bias(y: Array, bias: Array | None) -> Array:
    return y if bias is None else y + bias.reshape(-1, *[1] * (y.ndim - 2))


def conv_nd(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> Array:
    """Accumulates, per tap, a matmul of its filters with a strided view of the padded input."""
    n, channels, *size = x.shape
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    out = [
        (s + 2 * p - d * (k - 1) - 1) // t + 1
        for s, p, d, k, t in zip(size, padding, dilation, weight.shape[2:], stride, strict=True)
    ]
    y = np.zeros((n, groups, weight.shape[0] // groups, *out))
    filters: Any = weight.reshape(groups, -1, *weight.shape[1:])
    for tap in np.ndindex(*weight.shape[2:]):
        view: Any = tuple(
            slice(k * d, k * d + (o - 1) * t + 1, t) if o else slice(0, 0)
            for k, d, o, t in zip(tap, dilation, out, stride, strict=True)
        )
        part: Any = padded[(..., *view)].reshape(n, groups, channels // groups, *out)
        y += np.einsum("ngc...,goc->ngo...", part, filters[(..., *tap)])
    return _add_bias(y.reshape(n, weight.shape[0], *out), bias)


def conv_transpose_nd(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: list[int],
    padding: list[int],
    output_padding: list[int],
    groups: int,
    dilation: list[int],
) -> Array:
    """Adds, per tap, a matmul of its filters with the input to a strided view of the output."""
    n, channels, *size = x.shape
    full = [
        (s - 1) * t + d * (k - 1) + 1 + e
        for s, t, d, k, e in zip(
            size, stride, dilation, weight.shape[2:], output_padding, strict=True
        )
    ]
    y = np.zeros((n, groups, weight.shape[1], *full))
    parts: Any = x.reshape(n, groups, channels // groups, *size)
    filters: Any = weight.reshape(groups, channels // groups, *weight.shape[1:])
    for tap in np.ndindex(*weight.shape[2:]):
        view: Any = tuple(
            slice(k * d, k * d + (s - 1) * t + 1, t)
            for k, d, s, t in zip(tap, dilation, size, stride, strict=True)
        )
        y[(..., *view)] += np.einsum("ngc...,gco->ngo...", parts, filters[(..., *tap)])
    inner: Any = tuple(slice(p, f - p) for p, f in zip(padding, full, strict=True))
    return _add_bias(y.reshape(n, groups * weight.shape[1], *full)[(..., *inner)], bias)
