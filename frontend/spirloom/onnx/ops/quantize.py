"""Quantised operators.

Where all but the activations is known, they are spelt out as dequantise, a layer, quantise, which
passes make layers of whole numbers. Elsewhere they are floating point between two 8-bit tensors;
integer results are exact: a sum too long for float32 to hold is cut into sums that are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from spirloom.ir import Array, DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.fold import Kept, folds
from spirloom.onnx.ops.convolution import convolve
from spirloom.onnx.ops.matmul import product
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported

DEQUANTIZE, QUANTIZE = "spirloom.dequantize", "spirloom.quantize"
_RANGES = {DType.U8: (0.0, 255.0), DType.I8: (-128.0, 127.0)}

# How many products of two 8-bit numbers, less their zero points, float32 sums without rounding.
_EXACT_TERMS = (1 << 24) // (255 * 255)


@converts("QuantizeLinear")
def quantize_linear(ctx: NodeContext) -> Tensor:
    scale, zero = _known(ctx, 1), _zero_point(ctx, 2, DType.U8)
    x = ctx.tensor(0)
    if scale is not None and zero is not None and scale.size == 1 and x.dtype is DType.F32:
        return quantised(ctx, x, scale, zero)
    return _spelt_out(ctx)


def _spelt_out(ctx: NodeContext) -> Tensor:
    scale, zero = _along_axis(ctx, ctx.tensor(1)), ctx.optional_tensor(2)
    return _quantized(ctx, ctx.tensor(0), scale, None if zero is None else _along_axis(ctx, zero))


@converts("DequantizeLinear")
def dequantize_linear(ctx: NodeContext) -> Tensor:
    if is_weight(ctx.inputs[0]):
        return _weight(ctx)
    x, scale = ctx.tensor(0), _known(ctx, 1)
    points = _zero_point(ctx, 2, x.dtype) if x.dtype in _RANGES else None
    if scale is not None and points is not None and scale.size == 1:
        return _dequantised_by(ctx, x, scale, points)
    zero = ctx.optional_tensor(2)
    centred = _centred(ctx, ctx.tensor(0), None if zero is None else _along_axis(ctx, zero))
    return ctx.build.mul(centred, _along_axis(ctx, ctx.tensor(1)))


@folds("DequantizeLinear")
def _dequantized(ctx: NodeContext, inputs: list[Array]) -> Array:
    if is_weight(inputs[0]):
        raise Kept
    scale = inputs[1].reshape(_axis_shape(ctx, inputs[0].shape, inputs[1].shape))
    ctx.check_size(inputs[0].shape, np.dtype(np.float32).itemsize)
    wide = inputs[0].astype(np.float32)
    if len(inputs) > 2:
        wide = wide - inputs[2].reshape(scale.shape).astype(np.float32)
    return np.asarray(wide * scale)


def is_weight(x: object) -> bool:
    """Whether what is dequantised is a matrix of numbers or a filter for each channel of a plane,
    which a layer may take as they are."""
    return isinstance(x, np.ndarray) and x.ndim in (2, 4) and x.dtype in (np.int8, np.uint8)


def quantised(ctx: NodeContext, x: Tensor, scale: Array, zero: Array) -> Tensor:
    """x as numbers of one scale, of the zero point's type."""
    dtype = DType.of(zero.dtype)
    if dtype not in _RANGES or zero.size != 1:
        raise Unsupported(f"a zero point {zero.dtype}{list(zero.shape)} is not supported")
    low, high = _RANGES[dtype]
    return ctx.build.emit(
        QUANTIZE, x=x, **_scaling(ctx, scale, zero),
        quant_min=int(low), quant_max=int(high), dtype=str(dtype),
    )  # fmt: skip


def _dequantised_by(
    ctx: NodeContext, x: Tensor, scale: Array, zero: Array, **places: object
) -> Tensor:
    """What numbers stand for."""
    return ctx.build.emit(DEQUANTIZE, x=x, **_scaling(ctx, scale, zero), **places)


def _scaling(ctx: NodeContext, scale: Array, zero: Array) -> dict[str, object]:
    return {
        "scale": ctx.build.constant(scale.astype(np.float32)),
        "zero_point": ctx.build.constant(zero.astype(np.int32)),
    }


def _zero_point(ctx: NodeContext, place: int, dtype: DType) -> Array | None:
    """A zero point that is known; 0 of a type where the node has none."""
    if ctx.optional_tensor(place) is None:
        return np.zeros((), dtype.numpy)
    return _known(ctx, place)


def _known(ctx: NodeContext, place: int) -> Array | None:
    """An input, if its value is known at import."""
    value = ctx.optional(place)
    return value if isinstance(value, np.ndarray) else None


def _weight(ctx: NodeContext) -> Tensor:
    x, scale = ctx.tensor(0), ctx.tensor(1)
    zero = ctx.constant(2)
    if zero is None:
        zero = np.zeros(scale.shape, np.int32)
    places: dict[str, object] = {}
    if len(scale.shape) > 1 and prod(scale.shape) != 1:
        size = [d // max(n, 1) for d, n in zip(x.shape, scale.shape, strict=True)]
        places["block_size"] = tuple(size)
    elif prod(scale.shape) != 1:
        _axis_shape(ctx, x.shape, scale.shape)
        places["axis"] = ctx.axis(ctx.integer("axis", 1), len(x.shape))
    points = ctx.build.constant(zero.astype(np.int32))
    return ctx.build.emit(DEQUANTIZE, x=x, scale=scale, zero_point=points, **places)


@converts("MatMulInteger")
def matmul_integer(ctx: NodeContext) -> Tensor:
    whole = _Sums.read(ctx, 1)
    if whole is not None and whole.weight.ndim == 2 and whole.exact:
        return whole.result(ctx, product(ctx, *whole.operands(ctx)))
    zero = ctx.optional_tensor(2)
    a = _centred(ctx, ctx.ranked(0, 1), None if zero is None else _of_rows(ctx, zero))
    b = _centred(ctx, ctx.ranked(1, 1), ctx.optional_tensor(3))
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
    a = _centred(ctx, ctx.tensor(0), _of_rows(ctx, ctx.tensor(2)))
    b = _centred(ctx, ctx.tensor(3), ctx.tensor(5))
    scale = ctx.build.mul(_of_rows(ctx, ctx.tensor(1)), ctx.tensor(4))
    return _rescaled(ctx, product(ctx, a, b), scale)


@converts("ConvInteger")
def conv_integer(ctx: NodeContext) -> Tensor:
    whole = _Sums.read(ctx, 0)
    if whole is not None and whole.weight.ndim == 4 and whole.exact:
        return whole.result(ctx, convolve(ctx, *whole.operands(ctx), None))
    x, weight, zero = ctx.ranked(0, 3), ctx.ranked(1, 3), ctx.optional_tensor(3)
    x = _centred(ctx, x, ctx.optional_tensor(2))
    weight = _centred(ctx, weight, None if zero is None else _first(ctx, zero, len(weight.shape)))
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
    given, offset = _Given.read(ctx), _known(ctx, 8)
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
    x = _centred(ctx, x, ctx.tensor(2))
    weight = _centred(ctx, weight, _first(ctx, ctx.tensor(5), rank))
    y = convolve(ctx, x, weight, None if bias is None else _floats(ctx, bias))
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
        known = [_known(ctx, place) for place in range(1, 8)]
        arrays = [array for array in known if array is not None]
        if len(arrays) != len(known) or arrays[0].size != 1 or arrays[5].size != 1:
            return None
        return cls(*arrays)

    def x(self, ctx: NodeContext) -> Tensor:
        """What the activations stand for."""
        return _dequantised_by(ctx, ctx.tensor(0), self.x_scale, self.x_zero)

    def filters(self, ctx: NodeContext, axis: int) -> Tensor:
        """What the weight stands for, of which each index of an axis may have a scale."""
        count = max(self.w_scale.size, self.w_zero.size)
        scale, zero = (np.broadcast_to(each.reshape(-1), (count,))
                       for each in (self.w_scale, self.w_zero))  # fmt: skip
        return _dequantised_by(ctx, ctx.tensor(3), scale, zero, axis=axis)


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
        weight = _known(ctx, 1)
        if weight is None or ctx.tensor(0).dtype not in _RANGES:
            return None
        x_zero = _zero_point(ctx, 2, ctx.tensor(0).dtype)
        w_zero = np.zeros((), weight.dtype) if ctx.optional(3) is None else _known(ctx, 3)
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
        x = _dequantised_by(ctx, ctx.tensor(0), one, self.x_zero)
        return x, _dequantised_by(ctx, ctx.tensor(1), ones, self.w_zero, axis=self.axis)

    @staticmethod
    def result(ctx: NodeContext, sums: Tensor) -> Tensor:
        """The sums as integers."""
        return ctx.build.emit("aten._to_copy", x=sums, dtype=str(DType.I32))


def _rescaled(ctx: NodeContext, sums: Tensor, scale: Tensor) -> Tensor:
    """Sums of products, of the given scale, in the scale that inputs 6 and 7 say."""
    ratio = ctx.build.emit("aten.div.Tensor", a=ctx.tensor(6), b=scale)
    return _quantized(ctx, sums, ratio, ctx.tensor(7))


def _quantized(ctx: NodeContext, x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    dtype = DType.U8 if zero is None else zero.dtype
    if dtype not in _RANGES:
        raise Unsupported(f"{dtype.long_name} results are not supported; uint8 and int8 are")
    scaled = ctx.build.emit("aten.div.Tensor", a=_floats(ctx, x), b=scale)
    rounded = ctx.build.emit("aten.round", x=scaled)
    if zero is not None:
        rounded = ctx.build.add(rounded, _floats(ctx, zero))
    low, high = _RANGES[dtype]
    clamped = ctx.build.emit("aten.clamp", x=rounded, min=low, max=high)
    return ctx.build.emit("aten._to_copy", x=clamped, dtype=str(dtype))


def _centred(ctx: NodeContext, x: Tensor, zero: Tensor | None) -> Tensor:
    """x less its zero point, in float32."""
    wide = _floats(ctx, x)
    if zero is None or (zero.data is not None and not zero.data.any()):
        return wide
    offset = _floats(ctx, zero)
    if wide.data is not None and offset.data is not None:
        try:
            return ctx.build.constant(np.asarray(wide.data - offset.data))
        except ValueError as error:
            raise Unsupported(f"the zero point {offset} does not fit {x}") from error
    return ctx.build.emit("aten.sub.Tensor", a=wide, b=offset)


def _floats(ctx: NodeContext, x: Tensor) -> Tensor:
    if x.dtype in (DType.F32, DType.F16):
        return x
    if x.data is not None:
        return ctx.build.constant(x.data.astype(np.float32))
    return ctx.build.emit("aten._to_copy", x=x, dtype=str(DType.F32))


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


def _along_axis(ctx: NodeContext, x: Tensor) -> Tensor:
    """One value, or one for each element of the axis of input 0 that the node names."""
    return ctx.build.view(x, _axis_shape(ctx, ctx.tensor(0).shape, x.shape))


def _axis_shape(ctx: NodeContext, shape: Sequence[int], values: Sequence[int]) -> list[int]:
    if prod(values) == 1:
        return []
    axis = ctx.axis(ctx.integer("axis", 1), len(shape))
    if len(values) != 1 or values[0] != shape[axis]:
        raise Unsupported(f"scales of shape {list(values)} do not fit axis {axis} of {list(shape)}")
    return [values[0], *[1] * (len(shape) - 1 - axis)]
