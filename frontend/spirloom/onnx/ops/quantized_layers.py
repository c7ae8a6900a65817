"""Layers of numbers: QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger.

Where all but the activations is known, they are spelt out as dequantise, a layer, quantise, which
passes make layers of whole numbers. Elsewhere they are floating point between two 8-bit tensors;
integer results are exact: a sum too long for float32 to hold is cut into sums that are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.convolution import convolve
from spirloom.onnx.ops.matmul import product
from spirloom.onnx.ops.quantize import (
    RANGES,
    centred,
    dequantised_by,
    floats,
    known,
    quantised,
    rounded_to,
    zero_point,
)
from spirloom.onnx.registry import converts

# How many products of two 8-bit numbers, less their zero points, float32 sums without rounding.
_EXACT_TERMS = (1 << 24) // (255 * 255)


@converts("MatMulInteger")
def matmul_integer(ctx: NodeContext) -> Tensor:
    whole = _Sums.read(ctx, 1)
    if whole is not None and whole.weight.ndim == 2 and whole.exact:
        return whole.result(ctx, product(ctx, *whole.operands(ctx)))
    zero = ctx.optional_tensor(2)
    a = centred(ctx, ctx.ranked(0, 1), None if zero is None else _of_rows(ctx, zero))
    b = centred(ctx, ctx.ranked(1, 1), ctx.optional_tensor(3))
    rows = max(len(b.shape) - 2, 0)

    def part(start: int, end: int) -> Tensor:
        left = ctx.build.slice(a, len(a.shape) - 1, start, end)
        return product(ctx, left, ctx.build.slice(b, rows, start, end))

    return _exact_sum(ctx, a.shape[-1], _EXACT_TERMS, part)


@converts("QLinearMatMul")
def qlinear_matmul(ctx: NodeContext) -> Tensor:
    given = _Given.read(ctx)
    if given is not None and given.weight.ndim == 2:
        y = product(ctx, given.x(ctx), given.filters(ctx, 1))
        return quantised(ctx, y, given.y_scale, given.y_zero)
    a = centred(ctx, ctx.tensor(0), _of_rows(ctx, ctx.tensor(2)))
    b = centred(ctx, ctx.tensor(3), ctx.tensor(5))
    scale = ctx.build.mul(_of_rows(ctx, ctx.tensor(1)), ctx.tensor(4))
    return _rescaled(ctx, product(ctx, a, b), scale)


@converts("ConvInteger")
def conv_integer(ctx: NodeContext) -> Tensor:
    whole = _Sums.read(ctx, 0)
    if whole is not None and whole.weight.ndim == 4 and whole.exact:
        return whole.result(ctx, convolve(ctx, *whole.operands(ctx), None))
    x, weight, zero = ctx.ranked(0, 3), ctx.ranked(1, 3), ctx.optional_tensor(3)
    x = centred(ctx, x, ctx.optional_tensor(2))
    weight = centred(ctx, weight, None if zero is None else _first(ctx, zero, len(weight.shape)))
    step = _EXACT_TERMS // max(prod(weight.shape[2:]), 1)
    if step < 1 or (weight.shape[1] > step and ctx.integer("group", 1) > 1):
        raise Unsupported(f"sums over the {prod(weight.shape[1:])} elements of a filter may round")

    def part(start: int, end: int) -> Tensor:
        if (start, end) == (0, weight.shape[1]):  # with groups x has more channels
            return convolve(ctx, x, weight, None)
        pieces = [ctx.build.slice(t, 1, start, end) for t in (x, weight)]
        return convolve(ctx, pieces[0], pieces[1], None)

    return _exact_sum(ctx, weight.shape[1], step, part)


@converts("QLinearConv")
def qlinear_conv(ctx: NodeContext) -> Tensor:
    given, offset = _Given.read(ctx), known(ctx, 8)
    if (
        given is not None
        and given.weight.ndim == 4
        and (ctx.optional(8) is None) == (offset is None)
    ):
        scaled = None
        if offset is not None:
            values = offset * (given.x_scale.astype(np.float64) * given.w_scale)
            scaled = ctx.build.constant(values.astype(np.float32))
        y = convolve(ctx, given.x(ctx), given.filters(ctx, 0), scaled)
        return quantised(ctx, y, given.y_scale, given.y_zero)
    x, weight, bias = ctx.tensor(0), ctx.tensor(3), ctx.optional_tensor(8)
    rank = len(weight.shape)
    x = centred(ctx, x, ctx.tensor(2))
    weight = centred(ctx, weight, _first(ctx, ctx.tensor(5), rank))
    y = convolve(ctx, x, weight, None if bias is None else floats(ctx, bias))
    scale = ctx.build.mul(ctx.tensor(1), _first(ctx, ctx.tensor(4), rank - 1))
    return _rescaled(ctx, y, scale)


@dataclass(frozen=True, slots=True)
class _Given:
    """Inputs 1 to 7 of a layer of which all but the activations is known."""

    x_scale: Array
    x_zero: Array
    weight: Array
    w_scale: Array
    w_zero: Array
    y_scale: Array
    y_zero: Array

    @classmethod
    def read(cls, ctx: NodeContext) -> _Given | None:
        """None if one is not known, or the activations have more than one scale."""
        arrays = [array for place in range(1, 8) if (array := known(ctx, place)) is not None]
        if len(arrays) != 7 or arrays[0].size != 1 or arrays[5].size != 1:
            return None
        return cls(*arrays)

    def x(self, ctx: NodeContext) -> Tensor:
        """What the activations stand for."""
        return dequantised_by(ctx, ctx.tensor(0), self.x_scale, self.x_zero)

    def filters(self, ctx: NodeContext, axis: int) -> Tensor:
        """What the weight stands for, of which each index of an axis may have a scale."""
        count = max(self.w_scale.size, self.w_zero.size)
        scale, zero = (np.broadcast_to(each.reshape(-1), (count,))
                       for each in (self.w_scale, self.w_zero))  # fmt: skip
        return dequantised_by(ctx, ctx.tensor(3), scale, zero, axis=axis)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Operands of a layer whose result are the sums; `axis` is that of the weight's filters."""

    x_zero: Array
    weight: Array
    w_zero: Array
    axis: int

    @classmethod
    def read(cls, ctx: NodeContext, axis: int) -> _Sums | None:
        """None if more than the activations is unknown, or these have several zero points."""
        weight = known(ctx, 1)
        if weight is None or ctx.tensor(0).dtype not in RANGES:
            return None
        x_zero = zero_point(ctx, 2, ctx.tensor(0).dtype)
        w_zero = np.zeros((), weight.dtype) if ctx.optional(3) is None else known(ctx, 3)
        if x_zero is None or w_zero is None or x_zero.size != 1:
            return None
        return cls(x_zero, weight, w_zero.reshape(-1), axis)

    @property
    def exact(self) -> bool:
        """Whether float32 holds every sum."""
        filters = np.moveaxis(self.weight.astype(np.int64), self.axis, -1) - self.w_zero
        largest = np.abs(filters).reshape(-1, filters.shape[-1]).sum(0).max(initial=0)
        return int(largest) * 255 < 1 << 24

    def operands(self, ctx: NodeContext) -> tuple[Tensor, Tensor]:
        """What activations and weight stand for, in the scale 1."""
        one, ones = np.ones((), np.float32), np.ones(self.w_zero.shape, np.float32)
        x = dequantised_by(ctx, ctx.tensor(0), one, self.x_zero)
        return x, dequantised_by(ctx, ctx.tensor(1), ones, self.w_zero, axis=self.axis)

    @staticmethod
    def result(ctx: NodeContext, sums: Tensor) -> Tensor:
        """The sums as integers."""
        return ctx.build.emit("aten._to_copy", x=sums, dtype=str(DType.I32))


def _rescaled(ctx: NodeContext, sums: Tensor, scale: Tensor) -> Tensor:
    """Sums of products, of the given scale, in the scale that inputs 6 and 7 say."""
    ratio = ctx.build.emit("aten.div.Tensor", a=ctx.tensor(6), b=scale)
    return rounded_to(ctx, sums, ratio, ctx.tensor(7))


def _exact_sum(
    ctx: NodeContext, terms: int, step: int, part: Callable[[int, int], Tensor]
) -> Tensor:
    """The int32 sum over all terms, of parts that each sum `step` of them at most."""
    parts = [
        ctx.build.emit("aten._to_copy", x=part(i, min(i + step, terms)), dtype=str(DType.I32))
        for i in range(0, max(terms, 1), step)
    ]
    return reduce(ctx.build.add, parts)


def _of_rows(ctx: NodeContext, x: Tensor) -> Tensor:
    """One value, or one for each row of a matrix, as the matrix broadcasts with it."""
    return ctx.build.view(x, [*x.shape, 1]) if len(x.shape) == 1 else x


def _first(ctx: NodeContext, x: Tensor, rank: int) -> Tensor:
    """One value, or one for each element of the first dimension of `rank`."""
    return ctx.build.view(x, [prod(x.shape), *[1] * (rank - 1)])
