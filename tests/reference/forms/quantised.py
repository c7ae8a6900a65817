"""Layers with quantised weights: the weights spelt out, then PyTorch's layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from tests.reference.forms.layers import FORMS as LAYERS


def _halves(weight: Any) -> Any:
    """The numbers -8..7 of bytes, the low half first."""
    numbers = torch.empty(weight.shape[0], 2 * weight.shape[1], dtype=torch.int32)
    numbers[:, 0::2] = weight.to(torch.int32) % 16 - 8
    numbers[:, 1::2] = torch.div(weight.to(torch.int32), 16, rounding_mode="floor") - 8
    return numbers


def _layer(numbers: Callable[[Any], Any], op: str = "aten.linear") -> Callable[..., Any]:
    def form(
        x: Any, weight: Any, scales: Any, group: int, bias: Any, zeros: Any, *rest: Any
    ) -> Any:
        *others, offsets, norm, eps = rest
        rows, depth = weight.shape[0], x.shape[-1]
        groups = torch.arange(depth) // (group or max(depth, 1))
        of_element = [None if t is None else t.double().reshape(-1, t.shape[-1])[groups, :rows].T
                      for t in (scales, zeros, offsets)]  # fmt: skip
        values = numbers(weight)[:, :depth]
        values = (values if zeros is None else values - of_element[1]) * of_element[0]
        values = values if offsets is None else values + of_element[2]
        bias = None if bias is None else bias[:rows]
        return LAYERS[op](x, values, bias, *others, norm, eps)

    return form


def _rows(numbers: Any, scales: Any, index: Any, group: int, by_column: bool, *rest: Any) -> Any:
    """An embedding of the table that the numbers stand for, indices counted from its start."""
    count, size = numbers.shape

    def by_row(t: Any) -> Any:
        return (t.double().T[:count] if by_column else t.double().reshape(count, -1))[:, :, None]

    table = numbers.reshape(count, -1, group or size) * by_row(scales)
    table = table if rest[-1] is None else table + by_row(rest[-1])
    return torch.nn.functional.embedding(index % count, table.reshape(count, size))


def _rows_of_halves(weight: Any, *args: Any) -> Any:
    numbers, low_first = _halves(weight), args[4]
    pairs = numbers.reshape(len(weight), -1, 2)
    return _rows((pairs if low_first else pairs.flip(-1)).flatten(1), *args)


def _brains(weight: Any) -> Any:
    """The numbers of bfloat16 whose bytes these are."""
    return weight.to(torch.uint8).contiguous().view(torch.bfloat16).double()


def _as_channel(t: Any, x: Any, axis: int, block_size: list[int]) -> tuple[Any, Any]:
    """x so shaped that each of the values has dims of its own, and these, to broadcast."""
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
    split, scale = _as_channel(scale.double(), x, axis, block)
    _, zero = _as_channel(zero, x, axis, block)
    whole = torch.clamp(torch.round(split / scale) + zero, low, high)
    return whole.reshape(x.shape).to({"i8": torch.int8, "u8": torch.uint8}[dtype])


def _dequantize(x: Any, scale: Any, zero: Any, axis: int, block: list[int], dtype: str) -> Any:
    split, scale = _as_channel(scale.double(), x, axis, block)
    _, zero = _as_channel(zero, x, axis, block)
    return ((split.double() - zero.double()) * scale).reshape(x.shape)


def _rounded(layer: Callable[..., Any]) -> Callable[..., Any]:
    """The layer of x as its rows are when they were rounded to int8."""

    def form(
        x: Any, scale: Any, zero: Any, weight: Any, scales: Any, group: int, bias: Any, *rest: Any
    ) -> Any:
        shape = (*x.shape[:-1], 1)
        scale, zero = scale.double().reshape(shape), zero.double().reshape(shape)
        numbers = torch.clamp(torch.round(x / scale) + zero, -128, 127)
        return layer(
            (numbers - zero) * scale, weight, scales, group, bias, None, *rest, None, None, None
        )

    return form


def _finished(y: Any, scale: float, zero: int, kind: int, low: float, high: float) -> Any:
    """The numbers of a scale, of what an activation leaves."""
    y = torch.relu(y) if kind == 1 else torch.clamp(y, low, high) if kind == 2 else y
    return torch.clamp(torch.round(y / scale) + zero, -128, 127)


def _integers(layer: Callable[..., Any]) -> Callable[..., Any]:
    """The layer of what the numbers stand for, in double precision."""

    def form(
        x: Any, x_scale: float, x_zero: int, weight: Any, scales: Any, zeros: Any, bias: Any,
        y_scale: float, y_zero: int, *rest: Any,
    ) -> Any:  # fmt: skip
        *places, kind, low, high, dtype = rest
        of_filter = [1 if d else -1 for d in range(weight.ndim)]
        filters = weight.double() - (0 if zeros is None else zeros.double().reshape(of_filter))
        filters = filters * scales[: len(weight)].double().reshape(of_filter)
        bias = None if bias is None else bias[: len(weight)].double()
        y = layer((x.double() - x_zero) * x_scale, filters, bias, *places)
        if dtype == "f32":
            return torch.relu(y) if kind == 1 else torch.clamp(y, low, high) if kind else y
        return _finished(y, y_scale, y_zero, kind, low, high).to(torch.int8)

    return form


def _sum(
    a: Any, a_scale: float, a_zero: int, b: Any, b_scale: float, b_zero: int, y_scale: float,
    y_zero: int, alpha: float, *finish: Any,
) -> Any:  # fmt: skip
    terms = (a.double() - a_zero) * a_scale, (b.double() - b_zero) * b_scale
    y = torch.add(*terms, alpha=alpha)
    return _finished(y, y_scale, y_zero, *finish).to(torch.int8)


def _convolution(x: Any, x_scale: float, x_zero: int, weight: Any, *rest: Any) -> Any:
    """The weight as PyTorch has it, then the layer."""
    *numbers, stride, padding, dilation, turned, more, groups, kind, low, high, dtype, window = rest
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
        if not turned:
            forward = getattr(functions, f"conv{dims}d")
            return forward(x, filters, bias, stride, padding, dilation, groups)
        by_group = filters.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1)
        backward = getattr(functions, f"conv_transpose{dims}d")
        return backward(x, by_group, bias, stride, padding, more or 0, groups, dilation)

    return _integers(layer)(x, x_scale, x_zero, weight, *numbers, kind, low, high, dtype)


def _rescaled(a: Any, scale: float, zero: int, *finish: Any) -> Any:
    return _finished((a.double() - zero) * scale, *finish).to(torch.int8)


def _means(
    x: Any, x_scale: float, x_zero: int, y_scale: float, y_zero: int, window: list[int],
    stride: list[int], padding: list[int], ceil_mode: bool, count_pad: bool, divisor: int,
    *finish: Any,
) -> Any:  # fmt: skip
    """In 3-D, of dims of which the first ones may be 1."""
    dims = len(window)
    numbers = (x.double() - x_zero) * x_scale
    places = [[one] * (3 - dims) + list(sizes)
              for one, sizes in ((1, window), (1, stride), (0, padding))]  # fmt: skip
    y = torch.nn.functional.avg_pool3d(
        numbers.reshape(*x.shape[:-dims], *[1] * (3 - dims), *x.shape[-dims:]),
        *places, ceil_mode, count_pad, divisor or None,
    )  # fmt: skip
    y = y.reshape(*x.shape[:-dims], *y.shape[-dims:])
    return _finished(y, y_scale, y_zero, *finish).to(torch.int8)


FORMS: dict[str, Callable[..., Any]] = {
    "spirloom.add_i8": _sum,
    "spirloom.average_pool_i8": _means,
    "spirloom.convolution_i8": _convolution,
    "spirloom.linear_i8": _integers(torch.nn.functional.linear),
    "spirloom.rescale_i8": _rescaled,
    "spirloom.gated_linear_bf16": lambda x, weight, *rest: LAYERS["spirloom.gated_linear"](
        x, _brains(weight), *rest
    ),
    "spirloom.gated_linear_q4": _layer(_halves, "spirloom.gated_linear"),
    "spirloom.gated_linear_q8": _layer(lambda w: w.to(torch.int32), "spirloom.gated_linear"),
    "spirloom.dequantize": _dequantize,
    "spirloom.quantize": _quantize,
    "spirloom.embedding_bf16": lambda weight, index: torch.nn.functional.embedding(
        index % len(weight), _brains(weight)
    ),
    "spirloom.embedding_q4": _rows_of_halves,
    "spirloom.embedding_q8": _rows,
    "spirloom.linear_bf16": lambda x, weight, *rest: LAYERS["aten.linear"](
        x, _brains(weight), *rest
    ),
    "spirloom.linear_dq8_q4": _rounded(_layer(_halves)),
    "spirloom.linear_dq8_q8": _rounded(_layer(lambda weight: weight.to(torch.int32))),
    "spirloom.linear_q4": _layer(_halves),
    "spirloom.linear_q8": _layer(lambda weight: weight.to(torch.int32)),
}
