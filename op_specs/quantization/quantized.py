"""Quantization, and layers with quantized or bfloat16 weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..gemm.linear import gated_linear, linear

Array = NDArray[Any]


def unpack_int4(weight: Array) -> Array:
    """The int4 values of bytes: two per byte, low nibble first, stored plus 8."""
    nibbles: Array = np.stack([weight & 15, weight >> 4], axis=-1)
    return nibbles.reshape(len(weight), -1) - 8


def _expand_groups(values: Array, group: int, rows: int, depth: int) -> Array:
    """Values [groups, rows], or one per row, repeated to one per weight element [rows, depth]."""
    per_group = np.atleast_2d(values)[:, :rows].T
    return np.repeat(per_group, group if group > 0 else max(depth, 1), axis=1)[:, :depth]


def _dequantize_weight(
    codes: Array,
    scales: Array,
    zeros: Array | None,
    offsets: Array | None,
    group: int,
    depth: int,
) -> Array:
    codes = codes[:, :depth]
    if zeros is not None:
        codes = codes - _expand_groups(zeros, group, len(codes), depth)
    values = codes * _expand_groups(scales, group, len(codes), depth)
    if offsets is not None:
        values = values + _expand_groups(offsets, group, len(codes), depth)
    return values


def linear_w8(
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
    rms_weight: Array | None,
    rms_eps: Array | None,
) -> Array:
    """Linear layer of the dequantized weight: int8 codes, group-wise scales."""
    values = _dequantize_weight(weight, scales, zeros, offsets, group, x.shape[-1])
    bias = None if bias is None else bias[: len(values)]
    return linear(x, values, bias, activation, act_min, act_max, addend, rms_weight, rms_eps)


def linear_w4(x: Array, weight: Array, *args: Any) -> Array:
    """`linear_w8` with packed int4 codes."""
    return linear_w8(x, unpack_int4(weight), *args)


def gated_linear_w8(
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
    rms_weight: Array | None,
    rms_eps: Array | None,
) -> Array:
    """Gated linear layer of the dequantized weight."""
    values = _dequantize_weight(weight, scales, zeros, offsets, group, x.shape[-1])
    return gated_linear(x, values, bias, activation, act_min, act_max, rms_weight, rms_eps)


def gated_linear_w4(x: Array, weight: Array, *args: Any) -> Array:
    """`gated_linear_w8` with packed int4 codes."""
    return gated_linear_w8(x, unpack_int4(weight), *args)


def linear_f8(x: Array, weight: Array, scales: Array, group: int, *args: Any) -> Array:
    """Linear layer of an f8 weight with group-wise scales."""
    values = _dequantize_weight(weight, scales, None, None, group, x.shape[-1])
    return linear(x, values, *args)


def gated_linear_f8(x: Array, weight: Array, scales: Array, group: int, *args: Any) -> Array:
    """Gated linear layer of an f8 weight with group-wise scales."""
    values = _dequantize_weight(weight, scales, None, None, group, x.shape[-1])
    return gated_linear(x, values, *args)


def linear_bf16(x: Array, weight: Array, *args: Any) -> Array:
    """Linear layer with a bfloat16 weight."""
    return linear(x, weight, *args)


def gated_linear_bf16(x: Array, weight: Array, *args: Any) -> Array:
    """Gated linear layer with a bfloat16 weight."""
    return gated_linear(x, weight, *args)


def embedding_bf16(weight: Array, index: Array) -> Array:
    """Embedding in a bfloat16 table."""
    return weight[index]


def embedding_f8(
    weight: Array, scales: Array, index: Array, group: int, group_major: bool, dtype: str
) -> Array:
    """Embedding in an f8 table with group-wise scales."""
    return embedding_w8(weight, scales, index, group, group_major, dtype, None)


def embedding_w8(
    weight: Array,
    scales: Array,
    index: Array,
    group: int,
    group_major: bool,
    dtype: str,
    offsets: Array | None,
) -> Array:
    """Embedding in a dequantized table: int8 codes, group-wise scales."""
    rows, size = weight.shape

    def expand_groups(values: Array) -> Array:
        if values.ndim == 1:
            values = values[:, None]
        elif group_major:
            values = values[:, :rows].T
        return np.repeat(values, group or size, axis=1)[:, :size]

    table: Array = weight * expand_groups(scales)
    if offsets is not None:
        table = table + expand_groups(offsets)
    return table[index]


def embedding_w4(
    weight: Array,
    scales: Array,
    index: Array,
    group: int,
    group_major: bool,
    low_first: bool,
    dtype: str,
    offsets: Array | None,
) -> Array:
    """`embedding_w8` with packed int4 codes; `low_first`: the low nibble precedes the high one."""
    swapped = (weight & 15) << 4 | weight >> 4
    codes = unpack_int4(weight if low_first else swapped)
    return embedding_w8(codes, scales, index, group, group_major, dtype, offsets)


def _expand_blocks(values: Array, shape: Any, axis: int, block_size: list[int]) -> Array:
    """Values per tensor, channel or block, repeated to one per element."""
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
    """clamp(round(x / scale) + zero_point, quant_min, quant_max), rounding half to even."""
    scale = _expand_blocks(scale, x.shape, axis, block_size)
    zero_point = _expand_blocks(zero_point, x.shape, axis, block_size)
    return np.asarray(np.clip(np.rint(x / scale) + zero_point, quant_min, quant_max))


def dequantize(
    x: Array, scale: Array, zero_point: Array, axis: int, block_size: list[int], dtype: str
) -> Array:
    """(x - zero_point) * scale"""
    zero_point = _expand_blocks(zero_point, x.shape, axis, block_size)
    return (x - zero_point) * _expand_blocks(scale, x.shape, axis, block_size)


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
    """Scale and zero point per block, such that its range maps to the code range and 0 is exact."""
    blocks = block_size or x.shape
    rows = x.reshape(-1, int(np.prod(blocks)))
    reduced = [n == b and b > 1 for n, b in zip(x.shape, blocks, strict=True)]
    counts = [n // b for n, b in zip(x.shape, blocks, strict=True)]
    shape = [n for n, drop in zip(counts, reduced, strict=True) if keepdim or not drop]
    shape = shape if block_size else [1]
    low, high = np.minimum(rows.min(1), 0), np.maximum(rows.max(1), 0)
    steps = quant_max - quant_min
    if symmetric:
        scale = np.maximum(np.maximum(-low, high) / (steps / 2), eps)
        return scale.reshape(shape), np.full(shape, (quant_max + quant_min + 1) // 2)
    scale = np.maximum((high - low) / steps, eps)
    zero_point = np.clip(quant_min - np.rint(low / scale), quant_min, quant_max)
    return scale.reshape(shape), zero_point.reshape(shape)


def linear_a8w8(
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
    """`linear_w8` of x quantized to int8 and dequantized, with a scale and zero point per row."""
    x_scale, x_zero = (t.reshape(*x.shape[:-1], 1) for t in (x_scale, x_zero))
    codes = np.clip(np.rint(x / x_scale) + x_zero, -128, 127)
    rounded = (codes - x_zero) * x_scale
    rest = (activation, act_min, act_max, addend, None, None, None)
    return linear_w8(rounded, weight, scales, group, bias, None, *rest)


def linear_a8w4(x: Array, x_scale: Array, x_zero: Array, weight: Array, *args: Any) -> Array:
    """`linear_a8w8` with packed int4 codes."""
    return linear_a8w8(x, x_scale, x_zero, unpack_int4(weight), *args)
