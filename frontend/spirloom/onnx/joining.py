"""Parts of values along an axis, and values put together along a new one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.terms import Unsupported, Value


def part(ctx: NodeContext, x: Value, axis: int, place: int, keep: bool = False) -> Value:
    """The elements at one place of an axis, which stays with the size 1 if it is to be kept."""
    if not isinstance(x, Tensor):
        return np.asarray(np.take(x, [place] if keep else place, axis=axis))
    if keep:
        return ctx.build.slice(x, axis, place, place + 1)
    return ctx.build.emit("aten.select.int", x=x, dim=axis, index=place)


def stacked(ctx: NodeContext, parts: Sequence[Value], axis: int) -> Value:
    """Values of one shape along an additional axis."""
    shape = parts[0].shape
    if any(item.shape != shape for item in parts):
        raise Unsupported("the values it puts together differ in shape")
    if not any(isinstance(item, Tensor) for item in parts):
        arrays = [np.asarray(item) for item in parts]
        ctx.check_size([len(parts), *shape], arrays[0].itemsize)
        return np.asarray(np.stack(arrays, axis))
    full = [*shape[:axis], 1, *shape[axis:]]
    return ctx.build.cat([ctx.build.view(ctx.lifted(item), full) for item in parts], axis)
