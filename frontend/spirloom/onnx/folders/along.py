"""Evaluators that compute along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from spirloom.ir import Array
from spirloom.onnx.context import NodeContext
from spirloom.onnx.fold import folds

_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceSum": np.sum,
}


@folds(*_REDUCTIONS)
def _reduce(ctx: NodeContext, inputs: list[Array]) -> Array:
    axes = ctx.axes_argument() or []
    if not axes and ctx.integer("noop_with_empty_axes", 0):
        return inputs[0]
    dims = tuple(ctx.axes(axes, inputs[0].ndim)) if axes else None
    keep = bool(ctx.integer("keepdims", 1))
    result = _REDUCTIONS[ctx.op_type](inputs[0], axis=dims, keepdims=keep)
    return np.asarray(result, dtype=inputs[0].dtype)


@folds("CumSum")
def _cumsum(ctx: NodeContext, inputs: list[Array]) -> Array:
    axis = ctx.axis(int(inputs[1].item()), inputs[0].ndim)
    ctx.check_size(inputs[0].shape, inputs[0].itemsize)
    reverse = bool(ctx.integer("reverse", 0))
    x = np.flip(inputs[0], axis) if reverse else inputs[0]
    total = np.asarray(np.cumsum(x, axis=axis, dtype=x.dtype))
    if ctx.integer("exclusive", 0):
        total = total - x
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
