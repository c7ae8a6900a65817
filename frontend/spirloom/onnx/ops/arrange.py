"""Operators that move elements: cut, join, repeat, pad and pick."""

from __future__ import annotations

import numpy as np

from spirloom.ir import Array, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.folders import moving, shapes
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported


@converts("Transpose")
def transpose(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    return ctx.build.permute(x, shapes.permutation(ctx, len(x.shape)))


@converts("Concat")
def concat(ctx: NodeContext) -> Tensor:
    parts = tuple(ctx.tensor(i) for i in range(len(ctx.inputs)))
    axis = ctx.axis(ctx.integer("axis", 0), len(parts[0].shape))
    return ctx.build.cat(parts, axis)


@converts("Split")
def split(ctx: NodeContext) -> list[Tensor]:
    x = ctx.tensor(0)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    parts, start = [], 0
    for length in moving.split_sizes(ctx, x.shape[axis]):
        parts.append(ctx.build.slice(x, axis, start, start + length))
        start += length
    return parts


@converts("Slice")
def slice_(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    for axis, start, end, step in moving.slices(ctx, x.shape):
        if step > 0:
            x = ctx.build.slice(x, axis, start, max(start, end), step)
        else:
            ctx.check_size([len(range(start, end, step))], np.dtype(np.int64).itemsize)
            x = pick(ctx, x, axis, np.arange(start, end, step))
    return x


def pick(ctx: NodeContext, x: Tensor, axis: int, indices: Array) -> Tensor:
    """The elements of one dimension at constant, non-negative indices."""
    index = ctx.build.constant(indices.astype(np.int32))
    return ctx.build.emit("aten.index_select", x=x, dim=axis, index=index)


@converts("Gather")
def gather(ctx: NodeContext) -> Tensor:
    x, indices = ctx.tensor(0), ctx.value(1)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    size = x.shape[axis]
    if isinstance(indices, Tensor):
        flat = ctx.build.view(indices, [int(np.prod(indices.shape, dtype=np.int64))])
        y = ctx.build.emit("aten.index_select", x=x, dim=axis, index=flat)
    else:
        if indices.size and not (-size <= indices.min() and indices.max() < size):
            raise Unsupported(f"its indices go beyond the {size} elements of axis {axis}")
        wrapped = np.where(indices < 0, indices + size, indices)
        if indices.ndim == 0:
            return ctx.build.emit("aten.select.int", x=x, dim=axis, index=int(wrapped))
        y = pick(ctx, x, axis, wrapped.reshape(-1))
    return ctx.build.view(y, [*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])


@converts("Expand")
def expand(ctx: NodeContext) -> Tensor:
    x, target = ctx.tensor(0), ctx.constant_ints(1)
    try:
        size = np.broadcast_shapes(x.shape, tuple(target or ()))
    except ValueError as error:
        raise Unsupported(f"it cannot expand {list(x.shape)} to {target}") from error
    if size == x.shape:
        return x
    return ctx.build.emit("aten.expand", x=x, size=size)


@converts("Tile")
def tile(ctx: NodeContext) -> Tensor:
    x, repeats = ctx.tensor(0), ctx.constant_ints(1)
    if repeats is None or len(repeats) != len(x.shape):
        raise Unsupported(f"its repeats {repeats} do not fit rank {len(x.shape)}")
    return ctx.build.emit("aten.repeat", x=x, repeats=tuple(repeats))


@converts("Pad")
def pad(ctx: NodeContext) -> Tensor:
    x, mode = ctx.tensor(0), ctx.text("mode", "constant")
    rank = len(x.shape)
    pads = ctx.integers("pads") if ctx.opset < 11 else ctx.constant_ints(1)
    axes = ctx.constant_ints(3) if ctx.opset >= 18 else None
    dims = list(range(rank)) if axes is None else [ctx.axis(a, rank) for a in axes]
    if pads is None or len(pads) != 2 * len(dims):
        raise Unsupported(f"its pads {pads} do not fit {len(dims)} axes")
    before, after = [0] * rank, [0] * rank
    for i, dim in enumerate(dims):
        before[dim], after[dim] = pads[i], pads[i + len(dims)]
    if mode == "constant":
        return ctx.build.pad(x, before, after, _pad_value(ctx))
    modes = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    if mode not in modes or min(before + after, default=0) < 0:
        raise Unsupported(f"mode '{mode}' with pads {pads} is not supported")
    if not any(before + after):
        return x
    reach = {"reflect": 1, "edge": -max(before + after, default=0), "wrap": 0}[mode]
    most = [max(pair) for pair in zip(before, after, strict=True)]
    if all(p <= n - reach for p, n in zip(most, x.shape, strict=True)) and min(x.shape) > 0:
        pairs = zip(reversed(before), reversed(after), strict=True)
        amounts = tuple(amount for pair in pairs for amount in pair)
        return ctx.build.emit("aten.pad", x=x, pad=amounts, mode=modes[mode])
    # Beyond what PyTorch's pads reach, the rule goes on.
    for dim in (d for d in range(rank) if before[d] or after[d]):
        if not x.shape[dim]:
            raise Unsupported(f"it repeats elements of dimension {dim} of {x}, which has none")
        ctx.check_size([x.shape[dim] + before[dim] + after[dim]], 8)
        indices = np.pad(np.arange(x.shape[dim]), (before[dim], after[dim]), mode=mode)  # type: ignore[call-overload]
        x = pick(ctx, x, dim, indices)
    return x


def _pad_value(ctx: NodeContext) -> float:
    if ctx.opset < 11:
        return ctx.number("value", 0.0)
    value = ctx.constant(2)
    return 0.0 if value is None or not value.size else float(value.reshape(-1)[0])


@converts("DepthToSpace")
def depth_to_space(ctx: NodeContext) -> Tensor:
    x, block = ctx.tensor(0), ctx.integer("blocksize", 0)
    if len(x.shape) != 4 or block < 1 or x.shape[1] % (block * block):
        raise Unsupported(f"blocksize {block} does not fit {x}")
    if ctx.text("mode", "DCR") == "CRD":
        return ctx.build.emit("aten.pixel_shuffle", x=x, upscale_factor=block)
    n, c, h, w = x.shape
    parts = ctx.build.view(x, [n, block, block, c // block**2, h, w])
    moved = ctx.build.permute(parts, [0, 3, 4, 1, 5, 2])
    return ctx.build.view(moved, [n, c // block**2, h * block, w * block])


@converts("SpaceToDepth")
def space_to_depth(ctx: NodeContext) -> Tensor:
    x, block = ctx.tensor(0), ctx.integer("blocksize", 0)
    if len(x.shape) != 4 or block < 1 or x.shape[2] % block or x.shape[3] % block:
        raise Unsupported(f"blocksize {block} does not fit {x}")
    n, c, h, w = x.shape
    parts = ctx.build.view(x, [n, c, h // block, block, w // block, block])
    moved = ctx.build.permute(parts, [0, 3, 5, 1, 2, 4])
    return ctx.build.view(moved, [n, c * block**2, h // block, w // block])
