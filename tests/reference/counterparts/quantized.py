"""Layers with quantized weights: dequantization, then PyTorch's layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from tests.reference.counterparts.layers import COUNTERPARTS as LAYERS


def _unpack_int4(weight: Any) -> Any:
    """Unpacks int4 values (-8…7) from bytes, low nibble first."""
    values = torch.empty(weight.shape[0], 2 * weight.shape[1], dtype=torch.int32)
    values[:, 0::2] = weight.to(torch.int32) % 16 - 8
    values[:, 1::2] = torch.div(weight.to(torch.int32), 16, rounding_mode="floor") - 8
    return values


def _layer(unpack: Callable[[Any], Any], op: str = "aten.linear") -> Callable[..., Any]:
    def form(
        x: Any, weight: Any, scales: Any, group: int, bias: Any, zeros: Any, *rest: Any
    ) -> Any:
        *others, offsets, norm, eps = rest
        rows, depth = weight.shape[0], x.shape[-1]
        groups = torch.arange(depth) // (group or max(depth, 1))
        of_element = [None if t is None else t.double().reshape(-1, t.shape[-1])[groups, :rows].T
                      for t in (scales, zeros, offsets)]  # fmt: skip
        values = unpack(weight)[:, :depth]
        values = (values if zeros is None else values - of_element[1]) * of_element[0]
        values = values if offsets is None else values + of_element[2]
        bias = None if bias is None else bias[:rows]
        return LAYERS[op](x, values, bias, *others, norm, eps)

    return form


def _embedding(
    values: Any, scales: Any, index: Any, group: int, group_major: bool, *rest: Any
) -> Any:
    """Embedding with the dequantized table; negative indices count from its end."""
    count, size = values.shape

    def by_row(t: Any) -> Any:
        rows = t.double().reshape(-1, len(t.T)) if group_major else t.double().reshape(count, -1)
        return (rows.T[:count] if group_major else rows)[:, :, None]

    table = values.reshape(count, -1, group or size) * by_row(scales)
    table = table if rest[-1] is None else table + by_row(rest[-1])
    return torch.nn.functional.embedding(index % count, table.reshape(count, size))


def _embedding_int4(weight: Any, *args: Any) -> Any:
    values, low_first = _unpack_int4(weight), args[4]
    pairs = values.reshape(len(weight), -1, 2)
    return _embedding((pairs if low_first else pairs.flip(-1)).flatten(1), *args)


def _scaled(weight: Any, scales: Any, group: int) -> Any:
    """A weight [rows, depth] times its scales [groups, rows], or [rows]."""
    depth = weight.shape[1]
    per_group = scales.double().reshape(-1, len(weight)).T
    return weight.double() * per_group.repeat_interleave(group or depth, 1)[:, :depth]


def _blocked(t: Any, x: Any, axis: int, block_size: list[int]) -> tuple[Any, Any]:
    """x and t reshaped so that each scale or zero point broadcasts over its channel or block."""
    if block_size or (t.ndim == x.ndim and t.numel() > 1):
        sizes = block_size or [n // m for n, m in zip(x.shape, t.shape, strict=True)]
        split = [n for size, b in zip(x.shape, sizes, strict=True) for n in (size // b, b)]
        counts = [n for size, b in zip(x.shape, sizes, strict=True) for n in (size // b, 1)]
        return x.reshape(split), t.reshape(counts)
    dims = [1] * x.ndim
    if t.numel() > 1:
        dims[axis] = -1
    return x, t.reshape(dims)


def _quantize(
    x: Any, scale: Any, zero: Any, axis: int, block: list[int], low: int, high: int, dtype: str
) -> Any:
    split, scale = _blocked(scale.double(), x, axis, block)
    _, zero = _blocked(zero, x, axis, block)
    rounded = torch.clamp(torch.round(split / scale) + zero, low, high)
    return rounded.reshape(x.shape).to({"i8": torch.int8, "u8": torch.uint8}[dtype])


def _dequantize(x: Any, scale: Any, zero: Any, axis: int, block: list[int], dtype: str) -> Any:
    split, scale = _blocked(scale.double(), x, axis, block)
    _, zero = _blocked(zero, x, axis, block)
    return ((split.double() - zero.double()) * scale).reshape(x.shape)


def _with_int8_rows(layer: Callable[..., Any]) -> Callable[..., Any]:
    """The layer, applied to x after quantization of its rows to int8."""

    def form(
        x: Any, scale: Any, zero: Any, weight: Any, scales: Any, group: int, bias: Any, *rest: Any
    ) -> Any:
        shape = (*x.shape[:-1], 1)
        scale, zero = scale.double().reshape(shape), zero.double().reshape(shape)
        values = torch.clamp(torch.round(x / scale) + zero, -128, 127)
        return layer(
            (values - zero) * scale, weight, scales, group, bias, None, *rest, None, None, None
        )

    return form


def _requantized(y: Any, scale: float, zero: int, kind: int, low: float, high: float) -> Any:
    """Applies the activation and requantizes."""
    y = torch.relu(y) if kind == 1 else torch.clamp(y, low, high) if kind == 2 else y
    return torch.clamp(torch.round(y / scale) + zero, -128, 127)


def _int8_layer(layer: Callable[..., Any]) -> Callable[..., Any]:
    """The layer of the dequantized int8 operands, in double precision."""

    def form(
        x: Any, x_scale: float, x_zero: int, weight: Any, scales: Any, zeros: Any, bias: Any,
        y_scale: float, y_zero: int, *rest: Any,
    ) -> Any:  # fmt: skip
        *layer_args, kind, low, high, dtype = rest
        filter_shape = [1 if d else -1 for d in range(weight.ndim)]
        filters = weight.double() - (0 if zeros is None else zeros.double().reshape(filter_shape))
        filters = filters * scales[: len(weight)].double().reshape(filter_shape)
        bias = None if bias is None else bias[: len(weight)].double()
        y = layer((x.double() - x_zero) * x_scale, filters, bias, *layer_args)
        if dtype == "f32":
            return torch.relu(y) if kind == 1 else torch.clamp(y, low, high) if kind else y
        return _requantized(y, y_scale, y_zero, kind, low, high).to(torch.int8)

    return form


def _add(
    a: Any, a_scale: float, a_zero: int, b: Any, b_scale: float, b_zero: int, y_scale: float,
    y_zero: int, alpha: float, *epilogue: Any,
) -> Any:  # fmt: skip
    terms = (a.double() - a_zero) * a_scale, (b.double() - b_zero) * b_scale
    y = torch.add(*terms, alpha=alpha)
    return _requantized(y, y_scale, y_zero, *epilogue).to(torch.int8)


def _convolution(x: Any, x_scale: float, x_zero: int, weight: Any, *rest: Any) -> Any:
    """Converts the weight to PyTorch's layout, then applies the layer."""
    *quantization, stride, padding, dilation, transposed, output_padding, groups = rest[:-5]
    *epilogue, window = rest[-5:]
    dims = x.ndim - 2
    if window:
        depth = x.shape[1] // groups
        rows = weight[:, : depth * math.prod(window)].reshape(len(weight), *window, depth)
        weight = rows.movedim(-1, 1)
    elif weight.ndim < x.ndim:
        weight = weight.movedim(-1, 0)[:, None]
    stride, padding, dilation = stride or 1, padding or 0, dilation or 1

    def layer(x: Any, filters: Any, bias: Any) -> Any:
        functions = torch.nn.functional
        if not transposed:
            convolve = getattr(functions, f"conv{dims}d")
            return convolve(x, filters, bias, stride, padding, dilation, groups)
        by_group = filters.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1)
        convolve = getattr(functions, f"conv_transpose{dims}d")
        return convolve(x, by_group, bias, stride, padding, output_padding or 0, groups, dilation)

    return _int8_layer(layer)(x, x_scale, x_zero, weight, *quantization, *epilogue)


def _rescale(a: Any, scale: float, zero: int, *epilogue: Any) -> Any:
    return _requantized((a.double() - zero) * scale, *epilogue).to(torch.int8)


def _average_pool(
    x: Any, x_scale: float, x_zero: int, y_scale: float, y_zero: int, window: list[int],
    stride: list[int], padding: list[int], ceil_mode: bool, count_pad: bool, divisor: int,
    *epilogue: Any,
) -> Any:  # fmt: skip
    """Computed in 3-D; missing leading dims have size 1."""
    dims = len(window)
    values = (x.double() - x_zero) * x_scale
    window_args = [[default] * (3 - dims) + list(sizes)
                   for default, sizes in ((1, window), (1, stride), (0, padding))]  # fmt: skip
    y = torch.nn.functional.avg_pool3d(
        values.reshape(*x.shape[:-dims], *[1] * (3 - dims), *x.shape[-dims:]),
        *window_args, ceil_mode, count_pad, divisor or None,
    )  # fmt: skip
    y = y.reshape(*x.shape[:-dims], *y.shape[-dims:])
    return _requantized(y, y_scale, y_zero, *epilogue).to(torch.int8)


COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "spirloom.add_i8": _add,
    "spirloom.average_pool_i8": _average_pool,
    "spirloom.convolution_i8": _convolution,
    "spirloom.linear_i8": _int8_layer(torch.nn.functional.linear),
    "spirloom.rescale_i8": _rescale,
    "spirloom.gated_linear_bf16": lambda x, weight, *rest: LAYERS["spirloom.gated_linear"](
        x, weight.double(), *rest
    ),
    "spirloom.gated_linear_w4": _layer(_unpack_int4, "spirloom.gated_linear"),
    "spirloom.gated_linear_w8": _layer(lambda w: w.to(torch.int32), "spirloom.gated_linear"),
    "spirloom.dequantize": _dequantize,
    "spirloom.quantize": _quantize,
    "spirloom.embedding_bf16": lambda weight, index: torch.nn.functional.embedding(
        index % len(weight), weight.double()
    ),
    "spirloom.embedding_w4": _embedding_int4,
    "spirloom.embedding_w8": _embedding,
    "spirloom.linear_bf16": lambda x, weight, *rest: LAYERS["aten.linear"](
        x, weight.double(), *rest
    ),
    "spirloom.linear_a8w4": _with_int8_rows(_layer(_unpack_int4)),
    "spirloom.linear_a8w8": _with_int8_rows(_layer(lambda weight: weight.to(torch.int32))),
    "spirloom.linear_w4": _layer(_unpack_int4),
    "spirloom.linear_f8": lambda x, weight, scales, group, *rest: LAYERS["aten.linear"](
        x, _scaled(weight, scales, group), *rest
    ),
    "spirloom.gated_linear_f8": lambda x, weight, scales, group, *rest: LAYERS[
        "spirloom.gated_linear"
    ](x, _scaled(weight, scales, group), *rest),
    "spirloom.embedding_f8": lambda weight, scales, index, group, group_major, dtype: _embedding(
        weight.double(), scales, index, group, group_major or scales.ndim == 1, dtype, None
    ),
    "spirloom.linear_w8": _layer(lambda weight: weight.to(torch.int32)),
}
