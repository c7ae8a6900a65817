"""Quantised operators: floating point between two 8-bit tensors.

Integer results are exact: a sum too long for float32 to hold is cut into sums that are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

DEQUANTIZE = "spirloom.dequantize"
_RANGES = {DType.U8: (0.0, 255.0), DType.I8: (-128.0, 127.0)}

# How many products of two 8-bit numbers, less their zero points, float32 sums without rounding.
_EXACT_TERMS = (1 << 24) // (255 * 255)


@converts("QuantizeLinear")
def quantize_linear(ctx: NodeContext) -> Tensor:
    scale, zero = _along_axis(ctx, ctx.tensor(1)), ctx.optional_tensor(2)
    return _quantized(ctx, ctx.tensor(0), scale, None if zero is None else _along_axis(ctx, zero))


@converts("DequantizeLinear")
def dequantize_linear(ctx: NodeContext) -> Tensor:
    if is_weight(ctx.inputs[0]):
        return _weight(ctx)
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
    """Whether what is dequantised is a matrix of numbers, which a layer may take as they are."""
    return isinstance(x, np.ndarray) and x.ndim == 2 and x.dtype in (np.int8, np.uint8)


def _weight(ctx: NodeContext) -> Tensor:
    x, scale = ctx.tensor(0), ctx.tensor(1)
    zero = ctx.constant(2)
    if zero is None:
        zero = np.zeros(scale.shape, np.int32)
    places: dict[str, object] = {}
    if len(scale.shape) == 2:
        size = [d // max(n, 1) for d, n in zip(x.shape, scale.shape, strict=True)]
        places["block_size"] = tuple(size)
    elif prod(scale.shape) != 1:
        _axis_shape(ctx, x.shape, scale.shape)
        places["axis"] = ctx.axis(ctx.integer("axis", 1), 2)
    points = ctx.build.constant(zero.astype(np.int32))
    return ctx.build.emit(DEQUANTIZE, x=x, scale=scale, zero_point=points, **places)


@converts("MatMulInteger")
def matmul_integer(ctx: NodeContext) -> Tensor:
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
    a = _centred(ctx, ctx.tensor(0), _of_rows(ctx, ctx.tensor(2)))
    b = _centred(ctx, ctx.tensor(3), ctx.tensor(5))
    scale = ctx.build.mul(_of_rows(ctx, ctx.tensor(1)), ctx.tensor(4))
    return _rescaled(ctx, product(ctx, a, b), scale)


@converts("ConvInteger")
def conv_integer(ctx: NodeContext) -> Tensor:
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
    x, weight, bias = ctx.tensor(0), ctx.tensor(3), ctx.optional_tensor(8)
    rank = len(weight.shape)
    x = _centred(ctx, x, ctx.tensor(2))
    weight = _centred(ctx, weight, _first(ctx, ctx.tensor(5), rank))
    y = convolve(ctx, x, weight, None if bias is None else _floats(ctx, bias))
    scale = ctx.build.mul(ctx.tensor(1), _first(ctx, ctx.tensor(4), rank - 1))
    return _rescaled(ctx, y, scale)


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
