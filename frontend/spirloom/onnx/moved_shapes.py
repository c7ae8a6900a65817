"""Shapes of the results of operators that move elements, from attributes and constant inputs."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from spec_model.symbolic import settle, size_of
from spirloom.errors import Unsupported
from spirloom.onnx.context import NodeContext
from spirloom.sizes import clamped_index, is_symbolic


def slices(ctx: NodeContext, shape: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """The (axis, start, end, step) of each slice, with the semantics of range()."""
    if ctx.opset < 10:
        starts, ends = ctx.integers("starts"), ctx.integers("ends")
        axes, steps = ctx.integers("axes"), None
    else:
        starts, ends, axes, steps = (ctx.constant_ints(i) for i in (1, 2, 3, 4))
    if starts is None or ends is None:
        raise Unsupported("its starts or ends are missing")
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Unsupported("its starts, ends, axes and steps differ in length")
    result = []
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step == 0:
            raise Unsupported("its step is 0")
        axis = ctx.axis(axis, len(shape))
        result.append((axis, *_indices(start, end, step, shape[axis])))
    return result


def _indices(start: int, end: int, step: int, size: int) -> tuple[int, int, int]:
    """The indices of a slice, as slice.indices() returns them, which may be symbolic."""
    if not is_symbolic((start, end, size)):
        return slice(start, end, step).indices(size)
    if step < 0:
        raise Unsupported(f"its step {step} is negative, and its axis has the size {size}")
    return clamped_index(start, size), clamped_index(end, size), step


def split_sizes(ctx: NodeContext, length: int) -> list[int]:
    """The sizes of the outputs of a Split."""
    sizes = ctx.integers("split") if ctx.has("split") else ctx.constant_ints(1)
    count = len(ctx.node.output)
    if ctx.integer("num_outputs", count) != count:
        raise Unsupported(f"its num_outputs is not {count}, the number of its outputs")
    if sizes is None:
        size = -(-length // count)
        sizes = [max(min(size, length - i * size), 0) for i in range(count)]
    if sum(sizes) != length or any(s < 0 for s in sizes) or len(sizes) != len(ctx.node.output):
        raise Unsupported(f"its split sizes {sizes} do not add up to {length}")
    return sizes


def shape_slice(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The output of Shape for a tensor of this shape (opset 15 has start and end)."""
    end = ctx.integer("end", len(shape))
    return list(shape)[ctx.integer("start", 0) : end]


def reshaped(ctx: NodeContext, shape: Sequence[int], target: list[int]) -> list[int]:
    """The output shape of Reshape for a target with 0 and -1."""
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


def flattened(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The output shape of Flatten."""
    axis = ctx.integer("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise Unsupported(f"its axis {axis} is out of range for rank {len(shape)}")
    axis = axis + len(shape) if axis < 0 else axis
    return [prod(shape[:axis]), prod(shape[axis:])]


def squeezed(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The output shape of Squeeze."""
    axes = ctx.axes_argument()
    if axes is None:
        return [d for d in shape if settle(size_of(d) - 1, "!=")]
    removed = ctx.axes(axes, len(shape))
    for axis in removed:
        if shape[axis] != 1:
            raise Unsupported(f"its axis {axis} of {list(shape)} has size {shape[axis]}, not 1")
    return [d for i, d in enumerate(shape) if i not in removed]


def unsqueezed(ctx: NodeContext, shape: Sequence[int]) -> list[int]:
    """The output shape of Unsqueeze."""
    axes = ctx.axes_argument()
    if axes is None:
        raise Unsupported("its axes are missing")
    result = list(shape)
    for axis in ctx.axes(axes, len(shape) + len(axes)):
        result.insert(axis, 1)
    return result


VIEWS = {"Flatten": flattened, "Squeeze": squeezed, "Unsqueeze": unsqueezed}


def permutation(ctx: NodeContext, rank: int) -> list[int]:
    """The permutation of a Transpose."""
    dims = ctx.integers("perm") or list(reversed(range(rank)))
    if sorted(dims) != list(range(rank)):
        raise Unsupported(f"its perm {dims} does not fit rank {rank}")
    return dims
