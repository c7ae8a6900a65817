"""Statically quantized int8 operators: integer accumulation, then requantization."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spec_model.activations import Activation

from ..convolution import convolution_nd
from ..pooling import pooling_nd

Array = NDArray[Any]


def _activate(y: Array, activation: int, low: float, high: float) -> Array:
    if activation == Activation.RELU:
        return np.maximum(y, 0)
    return y if activation == Activation.NONE else np.clip(y, low, high)


def _quantize(y: Array, scale: float, zero: int) -> Array:
    """int8 codes of a scale and zero point, rounded half to even."""
    return np.asarray(np.clip(np.rint(y / scale) + zero, -128, 127))


def _requantize(
    accumulators: Array,
    scale: Array,
    bias: Array,
    y_scale: float,
    y_zero: int,
    activation: tuple[int, float, float],
    dtype: str,
) -> Array:
    y = _activate(accumulators * scale + bias, *activation)
    return y if dtype == "f32" else _quantize(y, y_scale, y_zero)


def _filters(weight: Array, shape: list[int], is_row: bool) -> Array:
    """The weight as [filters, channels, …].

    Its layout is [filters, taps · channels] if `is_row`, [taps…, filters] (depthwise) if it has one
    dim less, otherwise that of the result.
    """
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
    """int8 convolution or transposed convolution, with a scale and zero point per filter."""
    dims = x.ndim - 2
    per_channel = (-1, *[1] * dims)
    is_row, tap_major = bool(window), not window and weight.ndim == dims + 1
    count = weight.shape[-1 if tap_major else 0]
    size = window or (weight.shape[:dims] if tap_major else weight.shape[2:])
    filters = _filters(weight, [count, x.shape[1] // groups, *size], is_row).astype(np.float64)
    if zeros is not None:
        filters = filters - zeros.reshape(-1, *[1] * (dims + 1))
    inputs = (x - x_zero).astype(np.float64)
    stride, dilation = stride or [1] * dims, dilation or [1] * dims
    padding, output_padding = padding or [0] * dims, output_padding or [0] * dims
    if transposed:  # [channels, filters per group, …]
        per_group = filters.reshape(groups, count // groups, *filters.shape[1:]).swapaxes(1, 2)
        filters = per_group.reshape(-1, *per_group.shape[2:])
        accumulators = convolution_nd.conv_transpose_nd(
            inputs, filters, None, stride, padding, output_padding, groups, dilation
        )
    else:
        accumulators = convolution_nd.conv_nd(
            inputs, filters, None, stride, padding, dilation, groups
        )
    scale = (x_scale * scales[:count]).reshape(per_channel)
    offset = np.zeros(1) if bias is None else bias[:count].reshape(per_channel)
    return _requantize(
        accumulators, scale, offset, y_scale, y_zero, (activation, act_min, act_max), dtype
    )


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
    """int8 linear layer, with a scale and zero point per row of the weight."""
    rows = weight if zeros is None else weight - zeros.reshape(-1, 1)
    accumulators = (x - x_zero) @ rows.T
    scale = x_scale * scales[: len(weight)]
    bias = np.zeros(1) if bias is None else bias[: len(weight)]
    return _requantize(
        accumulators, scale, bias, y_scale, y_zero, (activation, act_min, act_max), dtype
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
    alpha: float,
    *activation: Any,
) -> Array:
    """The sum of two dequantized tensors, requantized."""
    y = (a - a_zero) * a_scale + alpha * (b - b_zero) * b_scale
    return _quantize(_activate(y, *activation), y_scale, y_zero)


def rescale_i8(
    a: Array, a_scale: float, a_zero: int, y_scale: float, y_zero: int, *activation: Any
) -> Array:
    """A dequantized tensor, requantized with another scale."""
    return _quantize(_activate((a - a_zero) * a_scale, *activation), y_scale, y_zero)


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
    """Average pooling of a dequantized tensor, requantized."""
    y = pooling_nd.average_pool(
        (x - x_zero) * x_scale, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip
    return _quantize(_activate(y, *activation), y_scale, y_zero)
