"""Constant folding of elementwise operators, reductions, CumSum, MatMul and Einsum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto

from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.onnx.constant_folding.registry import folds
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type, rounded_to_bfloat16

_UNARY: dict[str, Callable[[Array], Array]] = {
    "Abs": np.abs,
    "Ceil": np.ceil,
    "Exp": np.exp,
    "Floor": np.floor,
    "Log": np.log,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Reciprocal": np.reciprocal,
    "Relu": lambda x: np.maximum(x, 0),
    "Round": np.rint,
    "Sign": np.sign,
    "Sqrt": np.sqrt,
    "Identity": lambda x: x,
}

_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Pow": lambda a, b: np.power(a, b).astype(a.dtype),
}

_VARIADIC: dict[str, Callable[[Array, Array], Array]] = {
    "Max": np.maximum,
    "Min": np.minimum,
    "Sum": np.add,
}


@folds(*_UNARY)
def _unary(ctx: NodeContext, inputs: list[Array]) -> Array:
    ctx.refuse_extra_outputs()
    ctx.check_size(inputs[0].shape, inputs[0].itemsize)
    return _UNARY[ctx.op_type](inputs[0])


@folds(*_BINARY)
def _binary(ctx: NodeContext, inputs: list[Array]) -> Array:
    ctx.check_size(np.broadcast_shapes(inputs[0].shape, inputs[1].shape), inputs[0].itemsize)
    return _BINARY[ctx.op_type](inputs[0], inputs[1])


@folds(*_VARIADIC)
def _variadic(ctx: NodeContext, inputs: list[Array]) -> Array:
    result = inputs[0]
    for other in inputs[1:]:
        ctx.check_size(np.broadcast_shapes(result.shape, other.shape), result.itemsize)
        result = _VARIADIC[ctx.op_type](result, other)
    return result


@folds("Div")
def _div(ctx: NodeContext, inputs: list[Array]) -> Array:
    a, b = inputs
    ctx.check_size(np.broadcast_shapes(a.shape, b.shape), a.itemsize)
    if a.dtype.kind == "f":
        return np.divide(a, b)
    if not b.all():
        raise Unsupported("it divides a constant integer by zero")
    quotient = np.abs(a) // np.abs(b)
    return np.asarray(quotient * np.sign(a) * np.sign(b), dtype=a.dtype)


@folds("Mod")
def _mod(ctx: NodeContext, inputs: list[Array]) -> Array:
    a, b = inputs
    ctx.check_size(np.broadcast_shapes(a.shape, b.shape), a.itemsize)
    if a.dtype.kind != "f" and not b.all():
        raise Unsupported("it divides a constant integer by zero")
    return np.fmod(a, b) if ctx.integer("fmod", 0) else np.mod(a, b)


@folds("Clip")
def _clip(ctx: NodeContext, inputs: list[Array]) -> Array:
    x, *bounds = inputs
    ctx.check_size(x.shape, x.itemsize)
    if ctx.opset < 11:
        return np.clip(x, ctx.number("min", -np.inf), ctx.number("max", np.inf)).astype(x.dtype)
    low = bounds.pop(0) if ctx.known(1) is not None else None
    return np.asarray(
        np.minimum(x if low is None else np.maximum(x, low), bounds[0] if bounds else x)
    )


@folds("Where")
def _where(ctx: NodeContext, inputs: list[Array]) -> Array:
    shape = np.broadcast_shapes(*(i.shape for i in inputs))
    ctx.check_size(shape, inputs[1].itemsize)
    return np.where(inputs[0], inputs[1], inputs[2])


@folds("Cast", "CastLike")
def _cast(ctx: NodeContext, inputs: list[Array]) -> Array:
    target = numpy_type(ctx.integer("to", 0)) if len(inputs) == 1 else inputs[1].dtype
    ctx.check_size(inputs[0].shape, np.dtype(target).itemsize)
    with np.errstate(over="ignore", invalid="ignore"):
        if len(inputs) == 1 and ctx.integer("to", 0) == TensorProto.BFLOAT16:
            return rounded_to_bfloat16(inputs[0])
        return inputs[0].astype(target)


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceSum": np.sum,
}


@folds(*_REDUCTIONS)
def _reduce(ctx: NodeContext, inputs: list[Array]) -> Array:
    axes, noop = ctx.axes_argument() or [], ctx.integer("noop_with_empty_axes", 0)
    keep = bool(ctx.integer("keepdims", 1))
    if noop and not axes:
        return inputs[0]
    dims = tuple(ctx.axes(axes, inputs[0].ndim)) if axes else None
    result = _REDUCTIONS[ctx.op_type](inputs[0], axis=dims, keepdims=keep)
    return np.asarray(result, dtype=inputs[0].dtype)


@folds("CumSum")
def _cumsum(ctx: NodeContext, inputs: list[Array]) -> Array:
    axis = ctx.axis(int(inputs[1].item()), inputs[0].ndim)
    ctx.check_size(inputs[0].shape, inputs[0].itemsize)
    reverse = bool(ctx.integer("reverse", 0))
    x = np.flip(inputs[0], axis) if reverse else inputs[0]
    if ctx.integer("exclusive", 0):
        zero = np.zeros_like(np.take(x, [0] if x.shape[axis] else [], axis))
        x = np.concatenate([zero, np.take(x, range(x.shape[axis] - 1), axis)], axis)
    total = np.asarray(np.cumsum(x, axis=axis, dtype=x.dtype))
    return np.flip(total, axis) if reverse else total


@folds("MatMul")
def _matmul(ctx: NodeContext, inputs: list[Array]) -> Array:
    a, b = inputs
    columns = b.shape[-1:] if b.ndim > 1 else ()
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    ctx.check_size([*batch, *a.shape[-2:-1], *columns], a.itemsize)
    return np.asarray(np.matmul(a, b))


@folds("Einsum")
def _einsum(ctx: NodeContext, inputs: list[Array]) -> Array:
    equation = "".join(ctx.text("equation", "").split())
    return np.asarray(np.einsum(equation, *inputs))
