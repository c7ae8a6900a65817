"""Layers whose weights are 4- or 8-bit numbers with scales, and what makes such numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .linear import gated_linear, linear

Array = NDArray[Any]


def unpacked(weight: Array) -> Array:
    """Two numbers of -8..7 a byte: the low half comes first."""
    halves: Array = np.stack([weight & 15, weight >> 4], axis=-1)
    return halves.reshape(len(weight), -1) - 8


def _by_element(values: Array, group: int, rows: int, depth: int) -> Array:
    """What each element of a weight has, of values [groups, columns] or one for each column."""
    by_group = np.atleast_2d(values)[:, :rows].T
    return np.repeat(by_group, group if group > 0 else max(depth, 1), axis=1)[:, :depth]


def _dequantised(
    numbers: Array,
    scales: Array,
    zeros: Array | None,
    offsets: Array | None,
    group: int,
    depth: int,
) -> Array:
    numbers = numbers[:, :depth]
    if zeros is not None:
        numbers = numbers - _by_element(zeros, group, len(numbers), depth)
    values = numbers * _by_element(scales, group, len(numbers), depth)
    if offsets is not None:
        values = values + _by_element(offsets, group, len(numbers), depth)
    return values


def linear_q8(
    x: Array,
    weight: Array,
    scales: Array,
    group: int,
    bias: Array | None,
    zeros: Array | None,
    activation: int,
    act_min: float,
    act_max: float,
    addend: Array | None,
    offsets: Array | None,
    norm: Array | None,
    norm_eps: Array | None,
) -> Array:
    """A layer on the weights that the numbers stand for."""
    values = _dequantised(weight, scales, zeros, offsets, group, x.shape[-1])
    bias = None if bias is None else bias[: len(values)]
    return linear(x, values, bias, activation, act_min, act_max, addend, norm, norm_eps)


def linear_q4(x: Array, weight: Array, *args: Any) -> Array:
    """The same of two numbers a byte."""
    return linear_q8(x, unpacked(weight), *args)


def gated_linear_q8(
    x: Array,
    weight: Array,
    scales: Array,
    group: int,
    bias: Array | None,
    zeros: Array | None,
    activation: int,
    act_min: float,
    act_max: float,
    offsets: Array | None,
    norm: Array | None,
    norm_eps: Array | None,
) -> Array:
    """A gated layer on the weights that the numbers stand for."""
    values = _dequantised(weight, scales, zeros, offsets, group, x.shape[-1])
    return gated_linear(x, values, bias, activation, act_min, act_max, norm, norm_eps)


def gated_linear_q4(x: Array, weight: Array, *args: Any) -> Array:
    """The same of two numbers a byte."""
    return gated_linear_q8(x, unpacked(weight), *args)


def _of_bfloat16(weight: Array) -> Array:
    """The numbers of which these are the upper halves' bytes, the lower one first."""
    halves: Array = weight.astype(np.uint8).view("<u2").astype(np.uint32)
    return (halves << 16).view(np.float32).astype(np.float64)


def linear_bf16(x: Array, weight: Array, *args: Any) -> Array:
    """A layer of a weight of bfloat16."""
    return linear(x, _of_bfloat16(weight), *args)


def gated_linear_bf16(x: Array, weight: Array, *args: Any) -> Array:
    """A gated layer of a weight of bfloat16."""
    return gated_linear(x, _of_bfloat16(weight), *args)


def embedding_bf16(weight: Array, index: Array) -> Array:
    """Rows of a table of bfloat16."""
    return _of_bfloat16(weight)[index]


def embedding_q8(
    weight: Array,
    scales: Array,
    index: Array,
    group: int,
    by_column: bool,
    dtype: str,
    offsets: Array | None,
) -> Array:
    """Rows of the numbers that a table's stand for."""
    rows, size = weight.shape

    def by_element(values: Array) -> Array:
        if values.ndim == 1:
            values = values[:, None]
        elif by_column:
            values = values[:, :rows].T
        return np.repeat(values, group or size, axis=1)[:, :size]

    table: Array = weight * by_element(scales)
    if offsets is not None:
        table = table + by_element(offsets)
    return table[index]


def embedding_q4(
    weight: Array,
    scales: Array,
    index: Array,
    group: int,
    by_column: bool,
    low_first: bool,
    dtype: str,
    offsets: Array | None,
) -> Array:
    """The same of two numbers a byte."""
    swapped = (weight & 15) << 4 | weight >> 4
    numbers = unpacked(weight if low_first else swapped)
    return embedding_q8(numbers, scales, index, group, by_column, dtype, offsets)


def _of_elements(values: Array, shape: Any, axis: int, block_size: list[int]) -> Array:
    """What each element of a tensor has, of values for its blocks."""
    if values.size == 1:
        return np.broadcast_to(values.reshape(-1)[0], shape)
    if not block_size and values.ndim != len(shape):
        values = values.reshape([-1 if d == axis % len(shape) else 1 for d in range(len(shape))])
    elif block_size:
        values = values.reshape([n // b for n, b in zip(shape, block_size, strict=True)])
    for d, size in enumerate(shape):
        values = np.repeat(values, size // values.shape[d], axis=d)
    return values


def quantize(
    x: Array,
    scale: Array,
    zero_point: Array,
    axis: int,
    block_size: list[int],
    quant_min: int,
    quant_max: int,
    dtype: str,
) -> Array:
    """The whole numbers of a scale, half-way ones to even, next to a zero point."""
    scale = _of_elements(scale, x.shape, axis, block_size)
    zero_point = _of_elements(zero_point, x.shape, axis, block_size)
    return np.asarray(np.clip(np.rint(x / scale) + zero_point, quant_min, quant_max))


def dequantize(
    x: Array, scale: Array, zero_point: Array, axis: int, block_size: list[int], dtype: str
) -> Array:
    """What such numbers stand for."""
    zero_point = _of_elements(zero_point, x.shape, axis, block_size)
    return (x - zero_point) * _of_elements(scale, x.shape, axis, block_size)


def choose_qparams(
    x: Array,
    quant_min: int,
    quant_max: int,
    eps: float,
    block_size: list[int],
    symmetric: bool,
    keepdim: bool,
    zero_dtype: str,
) -> tuple[Array, Array]:
    """The scale and zero point with which the numbers of each block fill a range; 0 is exact."""
    blocks = block_size or x.shape
    rows = x.reshape(-1, int(np.prod(blocks)))
    whole = [n == b and b > 1 for n, b in zip(x.shape, blocks, strict=True)]
    counts = [n // b for n, b in zip(x.shape, blocks, strict=True)]
    shape = [n for n, gone in zip(counts, whole, strict=True) if keepdim or not gone]
    shape = shape if block_size else [1]
    low, high = np.minimum(rows.min(1), 0), np.maximum(rows.max(1), 0)
    steps = quant_max - quant_min
    if symmetric:
        scale = np.maximum(np.maximum(-low, high) / (steps / 2), eps)
        return scale.reshape(shape), np.full(shape, (quant_max + quant_min + 1) // 2)
    scale = np.maximum((high - low) / steps, eps)
    zero_point = np.clip(quant_min - np.rint(low / scale), quant_min, quant_max)
    return scale.reshape(shape), zero_point.reshape(shape)


def linear_dq8_q8(
    x: Array,
    x_scale: Array,
    x_zero: Array,
    weight: Array,
    scales: Array,
    group: int,
    bias: Array | None,
    activation: int,
    act_min: float,
    act_max: float,
    addend: Array | None,
) -> Array:
    """A layer on rows that were rounded to int8, each in its scale."""
    x_scale, x_zero = (t.reshape(*x.shape[:-1], 1) for t in (x_scale, x_zero))
    numbers = np.clip(np.rint(x / x_scale) + x_zero, -128, 127)
    rounded = (numbers - x_zero) * x_scale
    rest = (activation, act_min, act_max, addend, None, None, None)
    return linear_q8(rounded, weight, scales, group, bias, None, *rest)


def linear_dq8_q4(x: Array, x_scale: Array, x_zero: Array, weight: Array, *args: Any) -> Array:
    """The same of two numbers a byte."""
    return linear_dq8_q8(x, x_scale, x_zero, unpacked(weight), *args)
