"""Quantized layers: QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger.

If only the activations are not constant, a layer is decomposed into dequantize, a float layer and
quantize, which passes fuse into an integer layer. Other layers compute in float32 between 8-bit
tensors. Integer results are exact: sums that float32 may round are split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.layers.quantization import QUANT_RANGES, QParams, dequantize
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.convolution import convolve
from spirloom.onnx.ops.matmul import matmul_of
from spirloom.onnx.ops.quantize import (
    centered,
    emit_quantize,
    floats,
    known,
    quantize_decomposed,
    zero_point,
)
from spirloom.onnx.registry import converts

# The number of products of centered 8-bit values that float32 accumulates without rounding.
_EXACT_TERMS = (1 << 24) // (255 * 255)


@converts("MatMulInteger")
def matmul_integer(ctx: NodeContext) -> Tensor:
    layer = _IntegerLayer.read(ctx, 1)
    if layer is not None and layer.weight.ndim == 2 and layer.exact:
        return layer.result(ctx, matmul_of(ctx, *layer.operands(ctx)))
    zero = ctx.optional_tensor(2)
    a = centered(ctx, ctx.ranked(0, 1), None if zero is None else _of_rows(ctx, zero))
    b = centered(ctx, ctx.ranked(1, 1), ctx.optional_tensor(3))
    rows = max(len(b.shape) - 2, 0)

    def part(start: int, end: int) -> Tensor:
        left = ctx.build.slice(a, len(a.shape) - 1, start, end)
        return matmul_of(ctx, left, ctx.build.slice(b, rows, start, end))

    return _exact_sum(ctx, a.shape[-1], _EXACT_TERMS, part)


@converts("QLinearMatMul")
def qlinear_matmul(ctx: NodeContext) -> Tensor:
    layer = _ConstantLayer.read(ctx)
    if layer is not None and layer.weight.ndim == 2:
        y = matmul_of(ctx, layer.x(ctx), layer.filters(ctx, 1))
        return emit_quantize(ctx, y, layer.y_scale, layer.y_zero)
    a = centered(ctx, ctx.tensor(0), _of_rows(ctx, ctx.tensor(2)))
    b = centered(ctx, ctx.tensor(3), ctx.tensor(5))
    scale = ctx.build.mul(_of_rows(ctx, ctx.tensor(1)), ctx.tensor(4))
    return _rescaled(ctx, matmul_of(ctx, a, b), scale)


@converts("ConvInteger")
def conv_integer(ctx: NodeContext) -> Tensor:
    layer = _IntegerLayer.read(ctx, 0)
    if layer is not None and layer.weight.ndim == 4 and layer.exact:
        return layer.result(ctx, convolve(ctx, *layer.operands(ctx), None))
    x, weight, zero = ctx.ranked(0, 3), ctx.ranked(1, 3), ctx.optional_tensor(3)
    x = centered(ctx, x, ctx.optional_tensor(2))
    weight = centered(ctx, weight, None if zero is None else _first(ctx, zero, len(weight.shape)))
    step = _EXACT_TERMS // max(prod(weight.shape[2:]), 1)
    if step < 1 or (weight.shape[1] > step and ctx.integer("group", 1) > 1):
        raise Unsupported(
            f"float32 may round sums over the {prod(weight.shape[1:])} elements of a filter"
        )

    def part(start: int, end: int) -> Tensor:
        if (start, end) == (0, weight.shape[1]):  # with groups, x has more channels
            return convolve(ctx, x, weight, None)
        pieces = [ctx.build.slice(t, 1, start, end) for t in (x, weight)]
        return convolve(ctx, pieces[0], pieces[1], None)

    return _exact_sum(ctx, weight.shape[1], step, part)


@converts("QLinearConv")
def qlinear_conv(ctx: NodeContext) -> Tensor:
    layer, offset = _ConstantLayer.read(ctx), known(ctx, 8)
    if (
        layer is not None
        and layer.weight.ndim == 4
        and (ctx.optional(8) is None) == (offset is None)
    ):
        scaled = None
        if offset is not None:
            values = offset * (layer.x_scale.astype(np.float64) * layer.w_scale)
            scaled = ctx.build.constant(values.astype(np.float32))
        y = convolve(ctx, layer.x(ctx), layer.filters(ctx, 0), scaled)
        return emit_quantize(ctx, y, layer.y_scale, layer.y_zero)
    x, weight, bias = ctx.tensor(0), ctx.tensor(3), ctx.optional_tensor(8)
    rank = len(weight.shape)
    x = centered(ctx, x, ctx.tensor(2))
    weight = centered(ctx, weight, _first(ctx, ctx.tensor(5), rank))
    y = convolve(ctx, x, weight, None if bias is None else floats(ctx, bias))
    scale = ctx.build.mul(ctx.tensor(1), _first(ctx, ctx.tensor(4), rank - 1))
    return _rescaled(ctx, y, scale)


@dataclass(frozen=True, slots=True)
class _ConstantLayer:
    """Inputs 1 to 7 of a layer in which only the activations are not constant."""

    x_scale: Array
    x_zero: Array
    weight: Array
    w_scale: Array
    w_zero: Array
    y_scale: Array
    y_zero: Array

    @classmethod
    def read(cls, ctx: NodeContext) -> _ConstantLayer | None:
        """None if an input is not constant, or the activations have several scales."""
        arrays = [array for index in range(1, 8) if (array := known(ctx, index)) is not None]
        if len(arrays) != 7 or arrays[0].size != 1 or arrays[5].size != 1:
            return None
        return cls(*arrays)

    def x(self, ctx: NodeContext) -> Tensor:
        """The dequantized activations."""
        return dequantize(ctx.build, ctx.tensor(0), QParams(self.x_scale, self.x_zero))

    def filters(self, ctx: NodeContext, axis: int) -> Tensor:
        """The dequantized weight, with one scale or one per index of the axis."""
        qparams = QParams.per_channel(self.w_scale, self.w_zero, axis)
        return dequantize(ctx.build, ctx.tensor(3), qparams)


@dataclass(frozen=True, slots=True)
class _IntegerLayer:
    """Operands of a layer with int32 results. `axis` is the filter axis of the weight."""

    x_zero: Array
    weight: Array
    w_zero: Array
    axis: int

    @classmethod
    def read(cls, ctx: NodeContext, axis: int) -> _IntegerLayer | None:
        """None if an input other than the activations is not constant, or if the activations have
        several zero points.
        """
        weight = known(ctx, 1)
        if weight is None or ctx.tensor(0).dtype not in QUANT_RANGES:
            return None
        x_zero = zero_point(ctx, 2, ctx.tensor(0).dtype)
        w_zero = np.zeros((), weight.dtype) if ctx.optional(3) is None else known(ctx, 3)
        if x_zero is None or w_zero is None or x_zero.size != 1:
            return None
        return cls(x_zero, weight, w_zero.reshape(-1), axis)

    @property
    def exact(self) -> bool:
        """Whether float32 represents every possible sum exactly."""
        filters = np.moveaxis(self.weight.astype(np.int64), self.axis, -1) - self.w_zero
        largest = np.abs(filters).reshape(-1, filters.shape[-1]).sum(0).max(initial=0)
        return int(largest) * 255 < 1 << 24

    def operands(self, ctx: NodeContext) -> tuple[Tensor, Tensor]:
        """The dequantized activations and weight, with scale 1."""
        one = np.ones((), np.float32)
        x = dequantize(ctx.build, ctx.tensor(0), QParams(one, self.x_zero))
        qparams = QParams.per_channel(one, self.w_zero, self.axis)
        return x, dequantize(ctx.build, ctx.tensor(1), qparams)

    @staticmethod
    def result(ctx: NodeContext, sums: Tensor) -> Tensor:
        """The sums as int32."""
        return ctx.build.cast(sums, DType.I32)


def _rescaled(ctx: NodeContext, sums: Tensor, scale: Tensor) -> Tensor:
    """Requantizes sums with the given scale to the scale and zero point of inputs 6 and 7."""
    ratio = ctx.build.emit("aten.div.Tensor", a=ctx.tensor(6), b=scale)
    return quantize_decomposed(ctx, sums, ratio, ctx.tensor(7), ctx.tensor(7).dtype)


def _exact_sum(
    ctx: NodeContext, terms: int, step: int, part: Callable[[int, int], Tensor]
) -> Tensor:
    """The int32 sum over all terms, from partial sums of at most `step` terms."""
    parts = [
        ctx.build.cast(part(i, min(i + step, terms)), DType.I32)
        for i in range(0, max(terms, 1), step)
    ]
    return reduce(ctx.build.add, parts)


def _of_rows(ctx: NodeContext, x: Tensor) -> Tensor:
    """Reshapes a scalar, or one value per row, to broadcast with a matrix."""
    return ctx.build.view(x, [*x.shape, 1]) if len(x.shape) == 1 else x


def _first(ctx: NodeContext, x: Tensor, rank: int) -> Tensor:
    """Reshapes a scalar, or one value per index of the first dimension, to this rank."""
    return ctx.build.view(x, [prod(x.shape), *[1] * (rank - 1)])
