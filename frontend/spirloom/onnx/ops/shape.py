"""Views, casts, Shape and Size."""

from __future__ import annotations

from math import prod

import numpy as np

from spec_model.stored_float import float_format
from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.onnx import moved_shapes
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type
from spirloom.onnx.registry import converts
from spirloom.onnx.size_arrays import Known, LeadingPart, of_shape, size_array
from spirloom.sizes import is_symbolic, upper_shape
from spirloom.value_bounds import narrow_type


@converts("Identity")
def identity(ctx: NodeContext) -> Value:
    return ctx.value(0)


@converts("Dropout")
def dropout(ctx: NodeContext) -> list[Known]:
    """The identity, as in inference. In training mode, the ratio must be 0."""
    ratio, training = ctx.constant(1), ctx.constant(2)
    if training is not None and training.any() and (ratio is None or ratio.any()):
        raise Unsupported("training_mode is set; export the model in inference mode (model.eval())")
    x = ctx.value(0)
    if not ctx.uses_output(1):
        return [x]
    most = upper_shape(x.shape)
    ctx.check_size(most, 1)
    kept: Array = np.ones(most, dtype=np.bool_ if ctx.opset >= 10 else np.float32)
    return [x, LeadingPart(kept, x.shape) if is_symbolic(x.shape) else kept]


@converts("Shape")
def shape(ctx: NodeContext) -> Known:
    return of_shape(moved_shapes.shape_slice(ctx, ctx.tensor(0).shape))


@converts("Size")
def size(ctx: NodeContext) -> Known:
    return size_array([prod(ctx.tensor(0).shape)], [], np.dtype(np.int64))


@converts("Reshape")
def reshape(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    target = ctx.constant_ints(1)
    if target is None:
        raise Unsupported("its shape is missing")
    return ctx.build.view(x, moved_shapes.reshaped(ctx, x.shape, target))


@converts(*moved_shapes.VIEWS)
def view(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    return ctx.build.view(x, moved_shapes.VIEWS[ctx.op_type](ctx, x.shape))


@converts("CastLike")
def cast_like(ctx: NodeContext) -> Tensor | Array:
    """A constant stays one, also in the type of a value that is not constant."""
    value, target = ctx.inputs[0], ctx.dtype(1)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and target.kind in "biuf":
        return value.astype(target)
    return _cast(ctx, ctx.tensor(0), ctx.tensor(1).dtype)


@converts("Cast")
def cast(ctx: NodeContext) -> Tensor:
    x, target = ctx.tensor(0), ctx.integer("to", 0)
    return _cast(ctx, x, narrow_type(numpy_type(target)))


def _cast(ctx: NodeContext, x: Tensor, dtype: DType) -> Tensor:
    if dtype is x.dtype:
        return x
    if dtype is DType.B8 and x.dtype in (DType.F32, DType.F16, DType.I32):
        return ctx.build.emit("aten.ne.Tensor", a=x, b=ctx.build.scalar(0, x.dtype))
    if float_format(dtype) is not None:
        return to_stored_float(ctx, x, dtype)
    if float_format(x.dtype) is not None and not dtype.is_float:
        x = ctx.build.cast(x, DType.F32)
    return ctx.build.cast(x, dtype)


def to_stored_float(ctx: NodeContext, x: Tensor, dtype: DType) -> Tensor:
    """x in an f8 type. By default (attribute `saturate`), an overflow gives the largest value."""
    if x.dtype not in (DType.F32, DType.F16):
        x = ctx.build.cast(x, DType.F32)
    saturate = ctx.integer("saturate", 1)
    if not saturate and dtype is DType.F8E4M3:
        raise Unsupported("NaN for values beyond float8_e4m3fn (`saturate` 0) is not supported")
    if saturate:
        x = ctx.build.emit("aten.clamp", x=x, min=dtype.row.min, max=dtype.row.max)
    return ctx.build.cast(x, dtype)
