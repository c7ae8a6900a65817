"""MatMul, Gemm, Einsum, and Fourier transforms as a matmul with the DFT matrix."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.einsum import Equation, einsum
from spirloom.errors import Unsupported
from spirloom.fourier import dft_matrix
from spirloom.ir import Array, DType, Tensor
from spirloom.layers.quantization import DEQUANTIZE
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts

# The dtypes for which a matmul with a constant is a linear layer with packed weights.
_LAYERS = (DType.F32, DType.F16)


@converts("Gemm")
def gemm(ctx: NodeContext) -> Tensor:
    a, b, c = ctx.tensor(0), ctx.tensor(1), ctx.optional_tensor(2)
    alpha, beta = ctx.number("alpha", 1.0), ctx.number("beta", 1.0)
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise Unsupported(f"its operands {a} and {b} are not matrices")
    integral = alpha.is_integer() and beta.is_integer()
    if a.dtype not in _LAYERS and not integral:
        raise Unsupported(f"its alpha {alpha} and beta {beta} must be integers for {a.dtype}")
    if ctx.integer("transA", 0):
        a = ctx.build.permute(a, [1, 0])
    constant = _is_weight(ctx, b) and (b.data is not None or ctx.number("alpha", 1.0) == 1)
    if not constant or a.dtype not in _LAYERS:
        return _gemm_of_tensors(ctx, a, b, c)
    if not ctx.integer("transB", 0):
        b = ctx.build.permute(b, [1, 0])
    weight = b if alpha == 1 else _scaled(ctx, b, alpha)
    outputs = weight.shape[0]
    bias = None
    if c is not None and c.data is not None and c.shape in ((), (1,), (outputs,), (1, outputs)):
        row = np.broadcast_to(c.data.reshape(-1), (outputs,))
        bias = (
            c
            if beta == 1 and c.shape == (outputs,)
            else ctx.build.constant((row * beta).astype(c.dtype.numpy))
        )
        c = None
    y = ctx.build.emit("aten.linear", x=a, weight=weight, bias=bias)
    return _plus(ctx, y, c, beta)


def _is_weight(ctx: NodeContext, b: Tensor) -> bool:
    """Whether a tensor is a constant or a dequantized constant."""
    made = ctx.build.makers.get(b)
    while made is not None and made.op == "aten.permute" and isinstance(made.args[0], Tensor):
        made = ctx.build.makers.get(made.args[0])
    return b.data is not None or (made is not None and made.op == DEQUANTIZE)


def _gemm_of_tensors(ctx: NodeContext, a: Tensor, b: Tensor, c: Tensor | None) -> Tensor:
    if ctx.integer("transB", 0):
        b = ctx.build.permute(b, [1, 0])
    alpha, beta = ctx.number("alpha", 1.0), ctx.number("beta", 1.0)
    if c is not None:
        return ctx.build.emit("aten.addmm", c=c, a=a, b=b, alpha=alpha, beta=beta)
    y = ctx.build.emit("aten.mm", a=a, b=b)
    return y if alpha == 1 else ctx.build.mul(y, alpha)


def _scaled(ctx: NodeContext, x: Tensor, factor: float) -> Tensor:
    assert x.data is not None
    return ctx.build.constant((x.data * np.float64(factor)).astype(x.dtype.numpy))


def _plus(ctx: NodeContext, y: Tensor, c: Tensor | None, beta: float) -> Tensor:
    if c is None:
        return y
    return ctx.build.emit("aten.add.Tensor", a=y, b=c, alpha=beta)


@converts("MatMul")
def matmul(ctx: NodeContext) -> Tensor:
    return matmul_of(ctx, ctx.tensor(0), ctx.tensor(1))


def matmul_of(ctx: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """a @ b with NumPy's semantics."""
    if not a.shape or not b.shape or a.shape[-1] != b.shape[max(len(b.shape) - 2, 0)]:
        raise Unsupported(f"its operands {a} and {b} have different inner dimensions")
    left = ctx.build.view(a, [1, *a.shape]) if len(a.shape) == 1 else a
    right = ctx.build.view(b, [*b.shape, 1]) if len(b.shape) == 1 else b
    y = _batched_matmul(ctx, left, right)
    shape = list(y.shape)
    if len(b.shape) == 1:
        shape.pop(-1)
    if len(a.shape) == 1:
        shape.pop(-1 if len(b.shape) == 1 else -2)
    return ctx.build.view(y, shape)


def _batched_matmul(ctx: NodeContext, a: Tensor, b: Tensor) -> Tensor:
    """The matmul of tensors of rank 2 or more. Batch dimensions broadcast."""
    if len(b.shape) == 2:
        if _is_weight(ctx, b) and a.dtype in _LAYERS:
            return ctx.build.emit("aten.linear", x=a, weight=ctx.build.permute(b, [1, 0]))
        rows = ctx.build.view(a, [prod(a.shape[:-1]), a.shape[-1]])
        y = ctx.build.emit("aten.mm", a=rows, b=b)
        return ctx.build.view(y, [*a.shape[:-1], b.shape[1]])
    batch = a.shape[:-2]
    if batch != b.shape[:-2]:
        return ctx.build.emit("aten.matmul", a=a, b=b)
    left, right = (ctx.build.view(x, [prod(batch), *x.shape[-2:]]) for x in (a, b))
    y = ctx.build.emit("aten.bmm", a=left, b=right)
    return ctx.build.view(y, [*batch, a.shape[-2], b.shape[-1]])


@converts("Einsum")
def einsum_(ctx: NodeContext) -> Tensor:
    operands = [ctx.tensor(i) for i in range(len(ctx.inputs))]
    equation = Equation.parse(ctx.text("equation", ""), [len(x.shape) for x in operands])
    return einsum(ctx.build, equation, operands)


@converts("DFT")
def dft(ctx: NodeContext) -> Tensor:
    x = ctx.tensor(0)
    rank = len(x.shape)
    axis = _dft_axis(ctx, rank)
    length = ctx.constant_ints(1) or [x.shape[axis]]
    if rank < 2 or axis == rank - 1 or x.shape[-1] not in (1, 2):
        raise Unsupported(f"its input {x} is not real or complex with an axis {axis}")
    inverse, onesided = bool(ctx.integer("inverse", 0)), bool(ctx.integer("onesided", 0))
    if inverse and onesided:
        raise Unsupported("inverse with onesided is not supported")
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
    """Fourier transforms of windowed frames of the signal."""
    x, step = ctx.tensor(0), ctx.constant_ints(1)
    window, given = ctx.optional_tensor(2), ctx.constant_ints(3)
    length = given[0] if given else prod(window.shape) if window is not None else 0
    if len(x.shape) == 2:
        x = ctx.build.view(x, [*x.shape, 1])
    if len(x.shape) != 3 or not step or step[0] < 1 or not 1 <= length <= x.shape[1]:
        raise Unsupported(f"frames of length {length} with step {step} do not fit {x}")
    batch, size, parts = x.shape
    if parts not in (1, 2):
        raise Unsupported(f"its input {x} is not real or complex")
    ctx.check_size([size // step[0] + 1, length], np.dtype(np.int32).itemsize)
    starts = np.arange(0, size - length + 1, step[0], dtype=np.int32)
    indices = (starts[:, None] + np.arange(length, dtype=np.int32)).reshape(-1)
    index = ctx.build.constant(indices)
    frames = ctx.build.emit("aten.index_select", x=x, dim=1, index=index)
    frames = ctx.build.view(frames, [batch, len(starts), length, parts])
    if window is not None:
        frames = ctx.build.mul(frames, ctx.build.view(window, [length, 1]))
    return _transformed(ctx, frames, _matrix(ctx, length, bool(ctx.integer("onesided", 1)), parts))


def _matrix(
    ctx: NodeContext, length: int, onesided: bool, parts: int, inverse: bool = False
) -> Array:
    """The DFT as a real matrix [outputs · 2, length · parts]. `parts` is 1 for real input."""
    outputs = length // 2 + 1 if onesided else length
    ctx.check_size([outputs * 2, length * parts], np.dtype(np.float64).itemsize)
    return dft_matrix(length, outputs, parts, inverse) / (length if inverse else 1)


def _transformed(ctx: NodeContext, x: Tensor, matrix: Array) -> Tensor:
    """Multiplies the last two dimensions, [length, parts], by the matrix: [outputs, 2]."""
    rows = ctx.build.view(x, [*x.shape[:-2], x.shape[-2] * x.shape[-1]])
    weight = ctx.build.constant(matrix.astype(x.dtype.numpy))
    y = ctx.build.emit("aten.linear", x=rows, weight=weight)
    return ctx.build.view(y, [*x.shape[:-2], matrix.shape[0] // 2, 2])
