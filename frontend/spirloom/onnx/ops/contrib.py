"""Fused and block-quantized operators of ONNX Runtime (com.microsoft)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.matmul import matmul_of
from spirloom.onnx.ops.normalize import root_mean_square
from spirloom.onnx.registry import converts
from spirloom.quantized_weights import from_codes


@converts("com.microsoft.FusedMatMul", "com.microsoft.TransposeMatMul")
def fused_matmul(ctx: NodeContext) -> Tensor:
    a, b = (_transposed(ctx, ctx.ranked(i, 1), side) for i, side in enumerate("AB"))
    alpha = ctx.number("alpha", 1.0)
    y = matmul_of(ctx, a, b)
    return y if alpha == 1 else ctx.build.mul(y, alpha)


def _transposed(ctx: NodeContext, x: Tensor, side: str) -> Tensor:
    """An operand with its last two dimensions transposed (trans), or with its first dimension moved
    before the last (transBatch).
    """
    rank = len(x.shape)
    dims = list(range(rank))
    if ctx.integer(f"transBatch{side}", 0) and rank > 2:
        dims = [*dims[1:-1], 0, dims[-1]]
    if ctx.integer(f"trans{side}", 0) and rank > 1:
        dims[-2:] = dims[:-3:-1]
    return ctx.build.permute(x, dims)


@converts("com.microsoft.Gelu", "com.microsoft.BiasGelu")
def gelu(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.gelu", x=ctx.plus(ctx.tensor(0), 1), approximate="none")


@converts("com.microsoft.FastGelu")
def fast_gelu(ctx: NodeContext) -> Tensor:
    return ctx.build.emit("aten.gelu", x=ctx.plus(ctx.tensor(0), 1), approximate="tanh")


@converts("com.microsoft.SimplifiedLayerNormalization")
def simplified_layer_norm(ctx: NodeContext) -> Tensor:
    ctx.refuse_extra_outputs()
    return root_mean_square(ctx, ctx.tensor(0), ctx.tensor(1), ctx.number("epsilon", 1e-5))


@converts("com.microsoft.SkipLayerNormalization")
def skip_layer_norm(ctx: NodeContext) -> list[Tensor]:
    total = ctx.plus(ctx.build.add(ctx.ranked(0, 1), ctx.tensor(1)), 4)
    y = ctx.build.emit(
        "aten.native_layer_norm",
        x=total,
        normalized_shape=total.shape[-1:],
        weight=ctx.tensor(2),
        bias=ctx.optional_tensor(3),
        eps=ctx.number("epsilon", 1e-12),
    )
    return _with_sum(ctx, y, total)


@converts("com.microsoft.SkipSimplifiedLayerNormalization")
def skip_simplified_layer_norm(ctx: NodeContext) -> list[Tensor]:
    total = ctx.plus(ctx.build.add(ctx.ranked(0, 1), ctx.tensor(1)), 3)
    eps = ctx.number("epsilon", 1e-12)
    return _with_sum(ctx, root_mean_square(ctx, total, ctx.tensor(2), eps), total)


def _with_sum(ctx: NodeContext, y: Tensor, total: Tensor) -> list[Tensor]:
    """The outputs: the result, two statistics for training (unsupported), and the sum."""
    for index in (1, 2):
        if ctx.uses_output(index):
            ctx.refuse_extra_outputs(index)
    return [y, y, y, total]


@converts("com.microsoft.MatMulNBits")
def matmul_nbits(ctx: NodeContext) -> Tensor:
    x = ctx.ranked(0, 1)
    bits, block = ctx.integer("bits", 4), ctx.integer("block_size", 32)
    rows, depth = ctx.integer("N", 0), ctx.integer("K", 0)
    if ctx.optional(4) is not None:
        raise Unsupported("group indices (g_idx) are not supported")
    if bits not in (2, 4, 8) or block < 1 or min(rows, depth) < 1 or x.shape[-1] != depth:
        raise Unsupported(
            f"its {bits}-bit blocks of {block} do not fit K = {depth} and {x}, or bits is not 2, 4 "
            "or 8"
        )
    groups = -(-depth // block)
    packed, scales = _constant(ctx, 1).reshape(-1), _constant(ctx, 2)
    if packed.dtype != np.uint8 or packed.size * 8 != rows * groups * block * bits:
        raise Unsupported(
            f"its weight, {packed.size} {packed.dtype}, is not {rows} x {groups * block} of {bits} "
            "bits"
        )
    if scales.size != rows * groups:
        raise Unsupported(f"its {scales.size} scales do not fit {rows} rows of {groups} groups")
    scales = scales.reshape(rows, groups)
    zeros, middle = ctx.constant(3), 1 << (bits - 1)
    codes = (_unpacked(packed.reshape(rows, -1), bits) - np.uint8(middle)).view(np.int8)
    points, offsets = np.zeros((rows, groups), np.int32), None
    if zeros is not None and zeros.dtype.kind == "f":
        if zeros.size != scales.size:
            raise Unsupported(f"its {zeros.size} zero points do not fit its {scales.size} scales")
        offsets = (middle - zeros.reshape(rows, groups).astype(np.float32)) * scales
    elif zeros is not None:
        points = _zeros(zeros, rows, groups, bits).astype(np.int32) - middle
    found = from_codes(codes, scales, points, max(bits, 4))  # 2-bit codes are stored as int4
    if found is None:
        raise Unsupported(f"its blocks of {block} elements are not supported")
    # The last block ends after K. Zeros in x, not the weights there, are well defined.
    extent = [0] * (len(x.shape) - 1) + [groups * block - depth]
    x = ctx.build.pad(x, [0] * len(extent), extent, 0.0)
    weight = replace(found, offsets=offsets).arguments(f"{ctx.build.name}.weight", x.dtype)
    op = f"spirloom.linear_w{found.bits}"
    return ctx.build.emit(op, x=x, bias=ctx.optional_tensor(5), **weight)


@converts("com.microsoft.GatherBlockQuantized")
def gather_block_quantized(ctx: NodeContext) -> Tensor:
    packed, scales = _constant(ctx, 0), _constant(ctx, 2)
    bits, block = ctx.integer("bits", 4), ctx.integer("block_size", 128)
    if packed.dtype != np.uint8 or packed.ndim != 2 or bits not in (4, 8):
        raise Unsupported(f"its table, {packed.dtype} of rank {packed.ndim}, is not supported")
    if ctx.integer("gather_axis", 0) != 0 or ctx.integer("quantize_axis", 1) not in (1, -1):
        raise Unsupported("only gather_axis 0 and quantize_axis 1 are supported")
    codes = _unpacked(packed, bits)
    rows, depth = codes.shape
    if scales.ndim != 2 or len(scales) != rows or scales.shape[1] * block != depth:
        raise Unsupported(f"its scales of shape {list(scales.shape)} do not fit blocks of {block}")
    points = _zeros(ctx.constant(3), rows, scales.shape[1], bits)
    found = from_codes(codes, scales, points, bits)
    if found is None or found.zeros is not None:
        raise Unsupported("its table is asymmetric: zero points are not supported")
    given = found.arguments(f"{ctx.build.name}.table")
    del given["zeros"]
    dtype = DType.F16 if scales.dtype == np.float16 else DType.F32
    return ctx.build.emit(f"spirloom.embedding_w{found.bits}", **given, index=ctx.tensor(1),
                          group_major=True, dtype=str(dtype))  # fmt: skip


def _constant(ctx: NodeContext, index: int) -> Array:
    found = ctx.constant(index)
    if found is None:
        raise Unsupported(f"its input {index} is missing")
    return found


def _unpacked(packed: Array, bits: int) -> Array:
    """Unpacks codes, the lowest bits first. 8-bit codes are returned unchanged."""
    if bits == 8:
        return packed
    parts: Array = np.stack([packed >> at & (1 << bits) - 1 for at in range(0, 8, bits)], axis=-1)
    return parts.reshape(len(packed), -1)


def _zeros(given: Array | None, rows: int, groups: int, bits: int) -> Array:
    """The zero points. They are packed like the codes, with each row padded to bytes."""
    if given is None:
        return np.full((rows, groups), 1 << (bits - 1))
    if given.dtype != np.uint8 or given.size != rows * -(-groups * bits // 8):
        raise Unsupported(f"zero points of {given.dtype}{list(given.shape)} are not supported")
    return _unpacked(given.reshape(rows, -1), bits)[:, :groups]
