"""Layers on 8-bit numbers of one scale and zero point: whole numbers until the sum is done."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .convolution import convolution

Array = NDArray[Any]


def _limited(y: Array, activation: int, low: float, high: float) -> Array:
    if activation == 1:
        return np.maximum(y, 0)
    return y if activation == 0 else np.clip(y, low, high)


def _numbers(y: Array, scale: float, zero: int) -> Array:
    """The numbers of a scale that are nearest, half-way ones to even."""
    return np.asarray(np.clip(np.rint(y / scale) + zero, -128, 127))


def _finished(
    sums: Array,
    scale: Array,
    bias: Array,
    y_scale: float,
    y_zero: int,
    activation: tuple[int, float, float],
    dtype: str,
) -> Array:
    y = _limited(sums * scale + bias, *activation)
    return y if dtype == "f32" else _numbers(y, y_scale, y_zero)


def convolution_i8(
    x: Array,
    x_scale: float,
    x_zero: int,
    weight: Array,
    scales: Array,
    zeros: Array | None,
    bias: Array | None,
    y_scale: float,
    y_zero: int,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
    activation: int,
    act_min: float,
    act_max: float,
    dtype: str,
) -> Array:
    """A convolution of what the numbers of x and of each filter stand for."""
    filters = weight.astype(np.float64)
    if zeros is not None:
        filters = filters - zeros.reshape(-1, 1, 1, 1)
    sums = convolution(
        (x - x_zero).astype(np.float64), filters, None, stride, padding, dilation, False,
        [0, 0], groups, 0, 0.0, 0.0, None,
    )  # fmt: skip
    bias = np.zeros(1) if bias is None else bias
    scale, bias = (t.reshape(-1, 1, 1) for t in (x_scale * scales, bias))
    return _finished(sums, scale, bias, y_scale, y_zero, (activation, act_min, act_max), dtype)


def linear_i8(
    x: Array,
    x_scale: float,
    x_zero: int,
    weight: Array,
    scales: Array,
    zeros: Array | None,
    bias: Array | None,
    y_scale: float,
    y_zero: int,
    activation: int,
    act_min: float,
    act_max: float,
    dtype: str,
) -> Array:
    """A layer on what the numbers of x and of each row of the weight stand for."""
    rows = weight if zeros is None else weight - zeros.reshape(-1, 1)
    sums = (x - x_zero) @ rows.T
    bias = np.zeros(1) if bias is None else bias
    return _finished(
        sums, x_scale * scales, bias, y_scale, y_zero, (activation, act_min, act_max), dtype
    )


def add_i8(
    a: Array,
    a_scale: float,
    a_zero: int,
    b: Array,
    b_scale: float,
    b_zero: int,
    y_scale: float,
    y_zero: int,
    *activation: Any,
) -> Array:
    """The sum of what two tensors' numbers stand for, in a scale of its own."""
    y = (a - a_zero) * a_scale + (b - b_zero) * b_scale
    return _numbers(_limited(y, *activation), y_scale, y_zero)


def rescale_i8(
    a: Array, a_scale: float, a_zero: int, y_scale: float, y_zero: int, *activation: Any
) -> Array:
    """What a tensor's numbers stand for, in another scale."""
    return _numbers(_limited((a - a_zero) * a_scale, *activation), y_scale, y_zero)


def _words(numbers: Array) -> Array:
    """Each four of the last dim, in bytes, as a little-endian int32."""
    packed: Array = np.ascontiguousarray(numbers.astype(np.int8)).view("<i4").astype(np.int64)
    return packed


def pack_channels(x: Array, zero: int, shape: list[int]) -> Array:
    """[n, g, c, i] to [n, g, c / 4, i], four channels an int32."""
    last = x.reshape(shape).swapaxes(2, 3)
    padded = np.pad(last, [(0, 0)] * 3 + [(0, -shape[2] % 4)], constant_values=zero)
    return _words(padded).swapaxes(2, 3)


def pack_filters(weight: Array) -> Array:
    """[o, c, …] to [o / 4, taps * c / 4 + 1, 4], with the filters' sums behind them."""
    out, channels = weight.shape[:2]
    taps = weight.reshape(out, channels, -1).swapaxes(1, 2)
    words = _words(np.pad(taps, [(0, 0), (0, 0), (0, -channels % 4)]))
    sums = weight.reshape(out, -1).sum(1, keepdims=True)
    rows = np.pad(np.concatenate([words.reshape(out, -1), sums], 1), [(0, -out % 4), (0, 0)])
    return rows.reshape(-1, 4, rows.shape[1]).swapaxes(1, 2)
