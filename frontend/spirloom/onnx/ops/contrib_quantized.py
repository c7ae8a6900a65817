"""Layers and tables of ONNX Runtime (com.microsoft) with weights of 4 and 8 bits in groups."""

from __future__ import annotations

import numpy as np

from spirloom.ir import Array, DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported
from spirloom.weight_numbers import Numbers, numbers_of


@converts("com.microsoft.MatMulNBits")
def matmul_nbits(ctx: NodeContext) -> Tensor:
    x = ctx.ranked(0, 1)
    bits, block = ctx.integer("bits", 4), ctx.integer("block_size", 32)
    rows, depth = ctx.integer("N", 0), ctx.integer("K", 0)
    if ctx.optional(4) is not None:
        raise Unsupported("an order of groups (g_idx) is not supported")
    if bits not in (4, 8) or block < 1 or min(rows, depth) < 1 or depth % block:
        raise Unsupported(f"{bits} bits in blocks of {block} of {depth} are not supported")
    groups = depth // block
    packed = _constant(ctx, 1).reshape(-1)
    scales = _constant(ctx, 2).reshape(-1)
    zeros = ctx.constant(3)
    if packed.dtype != np.uint8 or packed.size * 8 != rows * depth * bits:
        raise Unsupported(f"{packed.size} {packed.dtype} are no {rows} x {depth} of {bits} bits")
    if scales.size != rows * groups:
        raise Unsupported(f"{scales.size} scales do not fit {rows} rows of {groups} groups")
    values = _unpacked(packed.reshape(rows, -1), bits)
    found = numbers_of(values, scales.reshape(rows, groups), _zeros(zeros, rows, groups, bits))
    return _layer(ctx, x, found, f"{ctx.build.name}.weight")


def _layer(ctx: NodeContext, x: Tensor, found: Numbers | None, name: str) -> Tensor:
    if found is None:
        raise Unsupported("its groups or zero points are not those of any layer")
    bias = ctx.optional_tensor(5)
    op = f"spirloom.linear_q{found.bits}"
    return ctx.build.emit(op, x=x, bias=bias, **found.arguments(name))


@converts("com.microsoft.GatherBlockQuantized")
def gather_block_quantized(ctx: NodeContext) -> Tensor:
    packed, scales = _constant(ctx, 0), _constant(ctx, 2)
    bits, block = ctx.integer("bits", 4), ctx.integer("block_size", 128)
    if packed.dtype != np.uint8 or packed.ndim != 2 or bits not in (4, 8):
        raise Unsupported(f"a table of {packed.ndim} dimensions of {packed.dtype} is not supported")
    if ctx.integer("gather_axis", 0) != 0 or ctx.integer("quantize_axis", 1) not in (1, -1):
        raise Unsupported("only rows whose elements have scales in blocks are supported")
    values = _unpacked(packed, bits)
    rows, depth = values.shape
    if scales.ndim != 2 or len(scales) != rows or scales.shape[1] * block != depth:
        raise Unsupported(f"scales of {list(scales.shape)} do not fit blocks of {block}")
    found = numbers_of(values, scales, _zeros(ctx.constant(3), rows, scales.shape[1], bits))
    if found is None or found.zeros is not None:
        raise Unsupported("tables with zero points off the middle are not supported")
    given = found.arguments(f"{ctx.build.name}.table")
    del given["zeros"]
    dtype = DType.F16 if scales.dtype == np.float16 else DType.F32
    return ctx.build.emit(f"spirloom.embedding_q{found.bits}", **given, index=ctx.tensor(1),
                          by_column=True, dtype=str(dtype))  # fmt: skip


def _constant(ctx: NodeContext, index: int) -> Array:
    found = ctx.constant(index)
    if found is None:
        raise Unsupported(f"its input {index} is missing")
    return found


def _unpacked(packed: Array, bits: int) -> Array:
    """The numbers 0..15 of bytes, the low half first; whole bytes as they are."""
    if bits == 8:
        return packed
    halves: Array = np.stack([packed & 15, packed >> 4], axis=-1)
    return halves.reshape(len(packed), -1)


def _zeros(given: Array | None, rows: int, groups: int, bits: int) -> Array:
    """The zero points, which are packed as the numbers are, each row in whole bytes."""
    if given is None:
        return np.full((rows, groups), 1 << (bits - 1))
    if given.dtype != np.uint8 or given.size != rows * -(-groups * bits // 8):
        raise Unsupported(f"zero points of {given.dtype}{list(given.shape)} are not supported")
    return _unpacked(given.reshape(rows, -1), bits)[:, :groups]
