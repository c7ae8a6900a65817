"""Import rules of Fourier transforms, as linear layers over pairs of float32 values."""

from __future__ import annotations

from math import prod, sqrt

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.fourier import dft_matrix, real_inverse_matrix
from spirloom.ir import Array
from spirloom.sizes import is_symbolic
from spirloom.torch.context import CallContext
from spirloom.torch.rules.complex_values import Complex, of_complex, pairs_of
from spirloom.torch.values import Item


@of_complex("aten._fft_c2c")
def complex_transform(ctx: CallContext) -> Item:
    """The transform of complex values along dimensions."""
    pairs = pairs_of(ctx, "self")
    dims = _dims(ctx, len(pairs.shape) - 1)
    scale = _scale(ctx, [ctx.size(pairs, d) for d in dims])
    for dim in dims:
        pairs = _transformed(ctx, pairs, dim, inverse=not ctx.flag("forward", True), scale=scale)
        scale = 1.0
    return Complex(pairs)


@of_complex("aten._fft_r2c")
def real_transform(ctx: CallContext) -> Item:
    """The transform of real values: of the last dimension first, which may keep one side."""
    x = ctx.value("self")
    dims = _dims(ctx, len(x.shape))
    sizes = [ctx.size(x, d) for d in dims]
    length = _fixed(sizes[-1])
    outputs = length // 2 + 1 if ctx.flag("onesided", True) else length
    matrix = dft_matrix(length, outputs, 1) * _scale(ctx, sizes)
    column = ctx.view(x, (*x.shape, 1))
    pairs = _multiplied(ctx, column, dims[-1], matrix, 2)
    for dim in dims[:-1]:
        pairs = _transformed(ctx, pairs, dim, inverse=False, scale=1.0)
    return Complex(pairs)


@of_complex("aten._fft_c2r")
def transform_to_real(ctx: CallContext) -> Item:
    """The inverse transform to real values: of the last dimension last."""
    pairs = pairs_of(ctx, "self")
    dims = _dims(ctx, len(pairs.shape) - 1)
    length = ctx.integer("last_dim_size")
    scale = _scale(ctx, [*(ctx.size(pairs, d) for d in dims[:-1]), length])
    for dim in dims[:-1]:
        pairs = _transformed(ctx, pairs, dim, inverse=True, scale=1.0)
    inputs = length // 2 + 1
    pairs = ctx.slice(pairs, dims[-1], 0, inputs)
    y = _multiplied(ctx, pairs, dims[-1], real_inverse_matrix(length, inputs) * scale, 1)
    return ctx.view(y, y.shape[:-1])


def _dims(ctx: CallContext, rank: int) -> list[int]:
    return [dim % rank for dim in ctx.integers("dim")]


def _scale(ctx: CallContext, sizes: list[int]) -> float:
    """The factor of torch's normalization: none, 1 / √n, or 1 / n of all dimensions."""
    mode = ctx.integer("normalization", 0)
    count = prod(_fixed(size) for size in sizes)
    return (1.0, 1 / sqrt(max(count, 1)), 1 / max(count, 1))[mode]


def _fixed(size: int) -> int:
    if is_symbolic((size,)):
        raise Unsupported("Fourier transforms require fixed sizes; fix the dimension with --dim")
    return size


def _transformed(ctx: CallContext, pairs: Value, dim: int, inverse: bool, scale: float) -> Value:
    length = _fixed(ctx.size(pairs, dim))
    return _multiplied(ctx, pairs, dim, dft_matrix(length, length, 2, inverse) * scale, 2)


def _multiplied(ctx: CallContext, x: Value, dim: int, matrix: Array, parts: int) -> Value:
    """Multiplies a dimension and the last one, which together are a vector, by a matrix. The result
    has `parts` in its last dimension.
    """
    rank = len(x.shape)
    order = [*(d for d in range(rank - 1) if d != dim), dim, rank - 1]
    rows = ctx.permute(x, order)
    outer = rows.shape[:-2]
    rows = ctx.view(rows, (*outer, rows.shape[-2] * rows.shape[-1]))
    y = ctx.inner("aten.linear", rows, matrix.astype(np.float32))
    y = ctx.view(y, (*outer, matrix.shape[0] // parts, parts))
    return ctx.permute(y, [order.index(d) for d in range(rank)])
