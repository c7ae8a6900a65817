"""Layers on 8-bit numbers of one scale and zero point: whole numbers until the sum is done."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import convolution_nd, pooling_nd

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


def _filters(weight: Array, shape: list[int], is_row: bool) -> Array:
    """The weight as [filters, channels, ...]: of rows of places of channels, of places of filters,
    or as it is."""
    filters, channels, *window = shape
    if is_row:
        rows = weight[:, : channels * math.prod(window)]
        return np.moveaxis(rows.reshape(filters, *window, channels), -1, 1)
    return weight if weight.ndim == len(shape) else np.moveaxis(weight, -1, 0)[:, None]


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
    transposed: bool,
    output_padding: list[int],
    groups: int,
    activation: int,
    act_min: float,
    act_max: float,
    dtype: str,
    window: list[int],
) -> Array:
    """A convolution of what the numbers of x and of each filter stand for, or its transpose."""
    dims = x.ndim - 2
    of_channel = (-1, *[1] * dims)
    is_row, by_place = bool(window), not window and weight.ndim == dims + 1
    count = weight.shape[-1 if by_place else 0]
    size = window or (weight.shape[:dims] if by_place else weight.shape[2:])
    filters = _filters(weight, [count, x.shape[1] // groups, *size], is_row).astype(np.float64)
    if zeros is not None:
        filters = filters - zeros.reshape(-1, *[1] * (dims + 1))
    numbers = (x - x_zero).astype(np.float64)
    stride, dilation = stride or [1] * dims, dilation or [1] * dims
    padding, more = padding or [0] * dims, output_padding or [0] * dims
    if transposed:  # there a weight is [channels, filters of a group, ...]
        by_group = filters.reshape(groups, count // groups, *filters.shape[1:]).swapaxes(1, 2)
        turned = by_group.reshape(-1, *by_group.shape[2:])
        sums = convolution_nd.transposed(
            numbers, turned, None, stride, padding, more, groups, dilation
        )
    else:
        sums = convolution_nd.forward(numbers, filters, None, stride, padding, dilation, groups)
    scale = (x_scale * scales[:count]).reshape(of_channel)
    added = np.zeros(1) if bias is None else bias[:count].reshape(of_channel)
    return _finished(sums, scale, added, y_scale, y_zero, (activation, act_min, act_max), dtype)


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
    scale = x_scale * scales[: len(weight)]
    bias = np.zeros(1) if bias is None else bias[: len(weight)]
    return _finished(sums, scale, bias, y_scale, y_zero, (activation, act_min, act_max), dtype)


def add_i8(
    a: Array,
    a_scale: float,
    a_zero: int,
    b: Array,
    b_scale: float,
    b_zero: int,
    y_scale: float,
    y_zero: int,
    alpha: float,
    *activation: Any,
) -> Array:
    """The sum of what two tensors' numbers stand for, in a scale of its own."""
    y = (a - a_zero) * a_scale + alpha * (b - b_zero) * b_scale
    return _numbers(_limited(y, *activation), y_scale, y_zero)


def rescale_i8(
    a: Array, a_scale: float, a_zero: int, y_scale: float, y_zero: int, *activation: Any
) -> Array:
    """What a tensor's numbers stand for, in another scale."""
    return _numbers(_limited((a - a_zero) * a_scale, *activation), y_scale, y_zero)


def average_pool_i8(
    x: Array,
    x_scale: float,
    x_zero: int,
    y_scale: float,
    y_zero: int,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int,
    *activation: Any,
) -> Array:
    """The means of what a tensor's numbers stand for, in another scale."""
    y = pooling_nd.average_pool(
        (x - x_zero) * x_scale, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip
    return _numbers(_limited(y, *activation), y_scale, y_zero)


def _words(numbers: Array) -> Array:
    """Each four of the last dim, in bytes, as a little-endian int32."""
    packed: Array = np.ascontiguousarray(numbers.astype(np.int8)).view("<i4").astype(np.int64)
    return packed


def pack_channels(x: Array, zero: int, shape: list[int]) -> Array:
    """[n, g, c, i] to [n, g, c / 4, i], four channels an int32."""
    last = x.reshape(shape).swapaxes(2, 3)
    padded = np.pad(last, [(0, 0)] * 3 + [(0, -shape[2] % 4)], constant_values=zero)
    return _words(padded).swapaxes(2, 3)


def pack_filters(weight: Array, sizes: list[int], strides: list[int]) -> Array:
    """Filters, channels and taps so far apart to [o / 4, taps * c / 4 + 1, 4], with the filters'
    sums behind them."""
    out, channels, _ = sizes
    places = np.einsum("dijk,d->ijk", np.indices(sizes), strides)
    taps = weight.reshape(-1)[places].swapaxes(1, 2)
    words = _words(np.pad(taps, [(0, 0), (0, 0), (0, -channels % 4)]))
    sums = taps.reshape(out, -1).sum(1, keepdims=True)
    rows = np.pad(np.concatenate([words.reshape(out, -1), sums], 1), [(0, -out % 4), (0, 0)])
    return rows.reshape(-1, 4, rows.shape[1]).swapaxes(1, 2)
