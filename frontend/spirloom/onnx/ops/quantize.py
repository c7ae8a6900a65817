"""QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from onnx import TensorProto

from spec_model.stored_float import float_format
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.layers.quantization import QUANT_RANGES, QParams, dequantize, quantize
from spirloom.onnx.constant_folding.registry import NotFolded, folds
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import dtype_of, type_name
from spirloom.onnx.ops.shape import to_stored_float
from spirloom.onnx.registry import converts


@converts("QuantizeLinear")
def quantize_linear(ctx: NodeContext) -> Tensor:
    x, dtype = ctx.tensor(0), _quantized_dtype(ctx)
    _read_layout(ctx)
    if ctx.integer("precision", 0) not in (TensorProto.UNDEFINED, TensorProto.FLOAT):
        raise Unsupported("its division is not in float32, which `precision` must be")
    scale, zero = known(ctx, 1), zero_point(ctx, 2, dtype)
    if dtype in QUANT_RANGES and scale is not None and zero is not None and scale.size == 1:
        return emit_quantize(ctx, x, scale, zero)
    points = ctx.optional_tensor(2)
    return quantize_decomposed(
        ctx,
        x,
        _along_axis(ctx, ctx.tensor(1)),
        None if points is None else _along_axis(ctx, points),
        dtype,
    )


def _read_layout(ctx: NodeContext) -> None:
    """A single scale is for all elements, whatever the attributes."""
    if prod(ctx.value(1).shape) == 1:
        ctx.without_effect("axis", "block_size")


def _quantized_dtype(ctx: NodeContext) -> DType:
    """The dtype of the zero point, otherwise of the attribute, otherwise uint8."""
    stated = ctx.integer("output_dtype", TensorProto.UNDEFINED)
    if ctx.optional(2) is not None:
        return ctx.tensor(2).dtype
    found = DType.U8 if stated == TensorProto.UNDEFINED else dtype_of(stated)
    if found not in QUANT_RANGES and (found is None or float_format(found) is None):
        raise Unsupported(f"{type_name(stated)} results are not supported; expected uint8 or int8")
    return found


def _float_dtype(ctx: NodeContext) -> DType:
    """The dtype of the attribute, otherwise of the scale."""
    stated = ctx.integer("output_dtype", TensorProto.UNDEFINED)
    found = ctx.tensor(1).dtype if stated == TensorProto.UNDEFINED else dtype_of(stated)
    if found not in (DType.F32, DType.F16):
        raise Unsupported(f"{type_name(stated)} results are not supported")
    return found


@converts("DequantizeLinear")
def dequantize_linear(ctx: NodeContext) -> Tensor:
    _read_layout(ctx)
    if is_weight(ctx.inputs[0]):
        return _weight(ctx)
    x, scale, dtype = ctx.tensor(0), known(ctx, 1), _float_dtype(ctx)
    points = zero_point(ctx, 2, x.dtype) if x.dtype in QUANT_RANGES else None
    if scale is not None and points is not None and scale.size == 1:
        return dequantize(ctx.build, x, QParams(scale, points), dtype)
    zero = ctx.optional_tensor(2)
    values = centered(ctx, ctx.tensor(0), None if zero is None else _along_axis(ctx, zero))
    y = ctx.build.mul(values, floats(ctx, _along_axis(ctx, ctx.tensor(1))))
    return ctx.build.cast(y, dtype)


@folds("DequantizeLinear")
def _dequantized(ctx: NodeContext, inputs: list[Array]) -> Array:
    own = DType.of(inputs[0].dtype)
    if is_weight(inputs[0]) or (own is not None and float_format(own) is not None):
        raise NotFolded
    _read_layout(ctx)
    ctx.check_size(inputs[0].shape, np.dtype(np.float32).itemsize)
    scale, *points = (_spread(ctx, inputs[0].shape, v).astype(np.float32) for v in inputs[1:])
    wide = inputs[0].astype(np.float32)
    if points:
        wide = wide - points[0]
    return np.asarray(wide * scale).astype(_float_dtype(ctx).numpy)


def is_weight(x: object) -> bool:
    """Whether a constant may be the quantized weight of a linear layer or a convolution."""
    return isinstance(x, np.ndarray) and 2 <= x.ndim <= 5 and x.dtype in (np.int8, np.uint8)


def emit_quantize(ctx: NodeContext, x: Tensor, scale: Array, zero: Array) -> Tensor:
    """Quantizes x with one scale, to the dtype of the zero point."""
    dtype = DType.of(zero.dtype)
    if dtype not in QUANT_RANGES or zero.size != 1:
        raise Unsupported(f"its zero point {zero.dtype}{list(zero.shape)} is not an 8-bit scalar")
    return quantize(ctx.build, x, QParams(scale, zero), dtype)


def zero_point(ctx: NodeContext, index: int, dtype: DType) -> Array | None:
    """The zero point of an input, 0 if it is absent. None if it is not constant."""
    if ctx.optional_tensor(index) is None:
        return np.zeros((), dtype.numpy)
    return known(ctx, index)


def known(ctx: NodeContext, index: int) -> Array | None:
    """An input if it is constant, otherwise None."""
    value = ctx.optional(index)
    return value if isinstance(value, np.ndarray) else None


def _weight(ctx: NodeContext) -> Tensor:
    x, scale, dtype = ctx.tensor(0), floats(ctx, ctx.tensor(1)), _float_dtype(ctx)
    zero = ctx.constant(2)
    if zero is None:
        zero = np.zeros(scale.shape, np.int32)
    axis = 0
    block_size: tuple[int, ...] = ()
    if len(scale.shape) > 1 and prod(scale.shape) != 1:
        size = [d // max(n, 1) for d, n in zip(x.shape, scale.shape, strict=True)]
        block = ctx.integer("block_size", 0)
        if block not in (0, size[ctx.axis(ctx.integer("axis", 1), len(size))]):
            raise Unsupported(f"its scale {scale} does not fit blocks of {block} elements of {x}")
        block_size = tuple(size)
    elif prod(scale.shape) != 1:
        _axis_shape(ctx, x.shape, scale.shape)
        axis = ctx.axis(ctx.integer("axis", 1), len(x.shape))
    return dequantize(ctx.build, x, QParams(scale, zero, axis, block_size), dtype)


def quantize_decomposed(
    ctx: NodeContext, x: Tensor, scale: Tensor, zero: Tensor | None, dtype: DType
) -> Tensor:
    """Quantizes x by elementwise float32 operators."""
    if float_format(dtype) is not None and _has_no_offset(zero):
        scaled = ctx.build.emit("aten.div.Tensor", a=floats(ctx, x), b=floats(ctx, scale))
        return to_stored_float(ctx, scaled, dtype)
    if dtype not in QUANT_RANGES:
        raise Unsupported(f"{dtype.long_name} results are not supported; expected uint8 or int8")
    scaled = ctx.build.emit("aten.div.Tensor", a=floats(ctx, x), b=floats(ctx, scale))
    rounded = ctx.build.emit("aten.round", x=scaled)
    if zero is not None:
        rounded = ctx.build.add(rounded, floats(ctx, zero))
    low, high = QUANT_RANGES[dtype]
    clamped = ctx.build.emit("aten.clamp", x=rounded, min=float(low), max=float(high))
    return ctx.build.cast(clamped, dtype)


def _has_no_offset(zero: Tensor | None) -> bool:
    """Whether a zero point is absent, or 0 everywhere."""
    if zero is None or zero.data is None:
        return zero is None
    return not any(zero.data.tobytes())


def centered(ctx: NodeContext, x: Tensor, zero: Tensor | None) -> Tensor:
    """x minus its zero point, in float32."""
    wide = floats(ctx, x)
    if _has_no_offset(zero):
        return wide
    assert zero is not None
    offset = floats(ctx, zero)
    if wide.data is not None and offset.data is not None:
        try:
            return ctx.build.constant(np.asarray(wide.data - offset.data))
        except ValueError as error:
            raise Unsupported(f"its zero point {offset} does not broadcast with {x}") from error
    return ctx.build.emit("aten.sub.Tensor", a=wide, b=offset)


def floats(ctx: NodeContext, x: Tensor) -> Tensor:
    """x in float32."""
    if x.dtype is not DType.F32 and x.data is not None and float_format(x.dtype) is None:
        return ctx.build.constant(x.data.astype(np.float32))
    return ctx.build.cast(x, DType.F32)


def _along_axis(ctx: NodeContext, x: Tensor) -> Tensor:
    """Reshapes a scalar, or one value per index of attribute `axis`, to broadcast with input 0. Of
    blocks along the axis, each value is repeated.
    """
    shape = ctx.tensor(0).shape
    axis = _block_axis(ctx, shape, x.shape)
    if axis is None:
        return ctx.build.view(x, _axis_shape(ctx, shape, x.shape))
    if x.data is not None:
        return ctx.build.constant(_spread(ctx, shape, x.data))
    repeated = ctx.build.emit(
        "aten.repeat_interleave.self_int", x=x, repeats=ctx.integer("block_size", 0), dim=axis
    )
    return ctx.build.slice(repeated, axis, 0, shape[axis])


def _spread(ctx: NodeContext, shape: Sequence[int], values: Array) -> Array:
    """As _along_axis(), of an array."""
    axis = _block_axis(ctx, shape, values.shape)
    if axis is None:
        return values.reshape(_axis_shape(ctx, shape, values.shape))
    repeated = np.repeat(values, ctx.integer("block_size", 0), axis)
    return repeated[(*[slice(None)] * axis, slice(shape[axis]))]


def _block_axis(ctx: NodeContext, shape: Sequence[int], values: Sequence[int]) -> int | None:
    """The axis along which each value is for a block of elements; None without blocks."""
    block = ctx.integer("block_size", 0)
    if block == 0 or prod(values) == 1:
        return None
    axis = ctx.axis(ctx.integer("axis", 1), len(shape))
    blocks = [-(-n // block) if d == axis else n for d, n in enumerate(shape)]
    if block < 1 or list(values) != blocks:
        raise Unsupported(
            f"scales of shape {list(values)} do not fit blocks of {block} elements along axis "
            f"{axis} of {list(shape)}"
        )
    return axis


def _axis_shape(ctx: NodeContext, shape: Sequence[int], values: Sequence[int]) -> list[int]:
    if prod(values) == 1:
        return []
    axis = ctx.axis(ctx.integer("axis", 1), len(shape))
    if len(values) != 1 or values[0] != shape[axis]:
        raise Unsupported(f"scales of shape {list(values)} do not fit axis {axis} of {list(shape)}")
    return [values[0], *[1] * (len(shape) - 1 - axis)]
