"""Evaluators of shapes, and of operators that only rename elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from spirloom.ir import Array
from spirloom.onnx.context import NodeContext
from spirloom.onnx.fold import folds
from spirloom.onnx.terms import Unsupported


@folds("Shape")
def _shape(ctx: NodeContext, inputs: list[Array]) -> Array:
    return shape_slice(ctx, inputs[0].shape)


@folds("Size")
def _size(ctx: NodeContext, inputs: list[Array]) -> Array:
    return np.array(inputs[0].size, dtype=np.int64)


def shape_slice(ctx: NodeContext, shape: Sequence[int]) -> Array:
    """What Shape gives for a tensor of this shape (opset 15 has start and end)."""
    end = ctx.integer("end", len(shape))
    return np.array(list(shape)[ctx.integer("start", 0) : end], dtype=np.int64)


@folds("Reshape")
def _reshape(ctx: NodeContext, inputs: list[Array]) -> Array:
    return inputs[0].reshape(reshaped(ctx, inputs[0].shape, [int(d) for d in inputs[1].flat]))


def reshaped(ctx: NodeContext, shape: Sequence[int], target: list[int]) -> list[int]:
    """The explicit shape that Reshape makes of `shape`, for a target with 0 and -1."""
    result = list(target)
    if not ctx.integer("allowzero", 0):
        for i, d in enumerate(target):
            if d == 0 and i >= len(shape):
                raise Unsupported(f"its shape {target} copies dimension {i} of {list(shape)}")
        result = [shape[i] if d == 0 else d for i, d in enumerate(target)]
    known = prod(d for d in result if d != -1)
    if result.count(-1) == 1 and known and prod(shape) % known == 0:
        result[result.index(-1)] = prod(shape) // known
    if any(d < 0 for d in result) or prod(result) != prod(shape):
        raise Unsupported(f"it cannot reshape {list(shape)} to {target}")
    return result


@folds("Flatten")
def _flatten(ctx: NodeContext, inputs: list[Array]) -> Array:
    return inputs[0].reshape(flattened(ctx, inputs[0].shape))


def flattened(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The two dimensions Flatten makes."""
    axis = ctx.integer("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise Unsupported(f"its axis {axis} is out of range for rank {len(shape)}")
    axis = axis + len(shape) if axis < 0 else axis
    return [prod(shape[:axis]), prod(shape[axis:])]


@folds("Squeeze")
def _squeeze(ctx: NodeContext, inputs: list[Array]) -> Array:
    return inputs[0].reshape(squeezed(ctx, inputs[0].shape))


def squeezed(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The shape Squeeze makes."""
    axes = ctx.axes_argument()
    if axes is None:
        return [d for d in shape if d != 1]
    removed = ctx.axes(axes, len(shape))
    for axis in removed:
        if shape[axis] != 1:
            raise Unsupported(f"its axis {axis} of {list(shape)} is not 1")
    return [d for i, d in enumerate(shape) if i not in removed]


@folds("Unsqueeze")
def _unsqueeze(ctx: NodeContext, inputs: list[Array]) -> Array:
    return inputs[0].reshape(unsqueezed(ctx, inputs[0].shape))


def unsqueezed(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The shape Unsqueeze makes."""
    axes = ctx.axes_argument()
    if axes is None:
        raise Unsupported("its axes are missing")
    result = list(shape)
    for axis in ctx.axes(axes, len(shape) + len(axes)):
        result.insert(axis, 1)
    return result


@folds("Transpose")
def _transpose(ctx: NodeContext, inputs: list[Array]) -> Array:
    return np.transpose(inputs[0], permutation(ctx, inputs[0].ndim))


def permutation(ctx: NodeContext, rank: int) -> list[int]:
    """The order of dimensions a Transpose asks for."""
    dims = ctx.integers("perm") or list(reversed(range(rank)))
    if sorted(dims) != list(range(rank)):
        raise Unsupported(f"its perm {dims} does not fit rank {rank}")
    return dims
