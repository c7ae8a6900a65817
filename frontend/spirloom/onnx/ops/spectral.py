"""Fourier transforms, as products with the matrix of the transform."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.ir import Array, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported


@converts("DFT")
def dft(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    rank = len(x.shape)
    axis = _dft_axis(ctx, rank)
    length = ctx.constant_ints(1) or [x.shape[axis]]
    if rank < 2 or axis == rank - 1 or x.shape[-1] not in (1, 2):
        raise Unsupported(f"{x} is not of real or complex numbers with an axis {axis}")
    inverse, onesided = bool(ctx.integer("inverse", 0)), bool(ctx.integer("onesided", 0))
    if inverse and onesided:
        raise Unsupported("an inverse that is one-sided is not supported")
    after = [length[0] - n if d == axis else 0 for d, n in enumerate(x.shape)]
    x = ctx.build.pad(x, [0] * rank, after, 0.0)
    matrix = _matrix(ctx, length[0], onesided, x.shape[-1], inverse)
    order = [d for d in range(rank) if d not in (axis, rank - 1)] + [axis, rank - 1]
    y = _transformed(ctx, ctx.build.permute(x, order), matrix)
    return ctx.build.permute(y, [order.index(d) for d in range(rank)])


def _dft_axis(ctx: NodeContext, rank: int) -> int:
    if ctx.opset < 20:
        return ctx.axis(ctx.integer("axis", 1), rank)
    given = ctx.constant_ints(2)
    return ctx.axis(given[0] if given else -2, rank)


@converts("STFT")
def stft(ctx: NodeContext) -> Tensor:
    """Frames, in steps along the signal, each weighted by the window and transformed."""
    x, step = ctx.tensor(0), ctx.constant_ints(1)
    window, given = ctx.optional_tensor(2), ctx.constant_ints(3)
    length = given[0] if given else prod(window.shape) if window is not None else 0
    if len(x.shape) == 2:
        x = ctx.build.view(x, [*x.shape, 1])
    if len(x.shape) != 3 or not step or step[0] < 1 or not 1 <= length <= x.shape[1]:
        raise Unsupported(f"frames of {length} in steps of {step} do not fit {x}")
    batch, size, parts = x.shape
    if parts not in (1, 2):
        raise Unsupported(f"{x} is not of real or complex numbers")
    ctx.check_size([size // step[0] + 1, length], np.dtype(np.int32).itemsize)
    starts = np.arange(0, size - length + 1, step[0], dtype=np.int32)
    places = (starts[:, None] + np.arange(length, dtype=np.int32)).reshape(-1)
    index = ctx.build.constant(places)
    frames = ctx.build.emit("aten.index_select", x=x, dim=1, index=index)
    frames = ctx.build.view(frames, [batch, len(starts), length, parts])
    if window is not None:
        frames = ctx.build.mul(frames, ctx.build.view(window, [length, 1]))
    return _transformed(ctx, frames, _matrix(ctx, length, bool(ctx.integer("onesided", 1)), parts))


def _matrix(
    ctx: NodeContext, length: int, onesided: bool, parts: int, inverse: bool = False
) -> Array:
    """The transform as a real matrix [outputs · 2, length · parts]; of real numbers parts is 1."""
    outputs = length // 2 + 1 if onesided else length
    ctx.check_size([outputs * 2, length * parts], np.dtype(np.float64).itemsize)
    turns = np.outer(np.arange(outputs), np.arange(length)) % length / length
    factor = np.exp((2j if inverse else -2j) * np.pi * turns) / (length if inverse else 1)
    of_real = np.stack([factor.real, factor.imag], axis=1)
    of_imaginary = np.stack([-factor.imag, factor.real], axis=1)
    matrix = np.stack([of_real, of_imaginary][:parts], axis=-1)
    return np.asarray(matrix.reshape(outputs * 2, length * parts))


def _transformed(ctx: NodeContext, x: Tensor, matrix: Array) -> Tensor:
    """The product with the last two dimensions, of [length, parts] elements: [outputs, 2]."""
    rows = ctx.build.view(x, [*x.shape[:-2], x.shape[-2] * x.shape[-1]])
    weight = ctx.build.constant(matrix.astype(x.dtype.numpy))
    y = ctx.build.emit("aten.linear", x=rows, weight=weight)
    return ctx.build.view(y, [*x.shape[:-2], matrix.shape[0] // 2, 2])
