"""Import rules of quantization: block-wise operators of torchao, and those of PT2E.

`dequantize` of constants is not folded: the file stores the quantized values, and a pass fuses the
operator into the layer that reads them.
"""

from __future__ import annotations

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.layers import quantization as layers
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import Results, imports
from spirloom.torch.values import Item

_TENSOR = ("quantized_decomposed.{}_per_tensor", "quantized_decomposed.{}_per_tensor.tensor",
           "quantized_decomposed.{}_per_token")  # fmt: skip
_FLOAT32 = np.dtype(np.float32)


@imports("torchao.dequantize_affine", "quantized_decomposed.dequantize_per_channel",
         *(name.format("dequantize") for name in _TENSOR))  # fmt: skip
def dequantize(ctx: CallContext) -> Item:
    """Dequantization: (x - zero point) * scale."""
    dtype = DType.F16 if ctx.out_dtype() == np.float16 else DType.F32
    return layers.dequantize(ctx.build, *_operands(ctx), dtype)


@imports("torchao.quantize_affine", "quantized_decomposed.quantize_per_channel",
         *(name.format("quantize") for name in _TENSOR))  # fmt: skip
def quantize(ctx: CallContext) -> Item:
    """Quantization of floats to int8 or uint8."""
    dtype = DType.of(ctx.out_dtype())
    if dtype not in layers.QUANT_RANGES:
        raise Unsupported(f"quantization to {ctx.out_dtype()} is not supported; int8 and uint8 are")
    return layers.quantize(ctx.build, *_operands(ctx), dtype, _quant_range(ctx, dtype))


@imports("torchao.choose_qparams_affine", "quantized_decomposed.choose_qparams.tensor")
def choose_qparams(ctx: CallContext) -> Item:
    """Scale and zero point from the minimum and the maximum."""
    kind = ctx.text("mapping_type", "ASYMMETRIC")
    if kind not in ("ASYMMETRIC", "SYMMETRIC"):
        raise Unsupported(f"the mapping type {kind} is not supported")
    int8_zeros = ctx.dtypes[1] == np.int8 if len(ctx.dtypes) > 1 else False
    target = ctx.dtype("target_dtype") or ctx.dtype()
    low, high = _quant_range(ctx, DType.U8 if target == np.uint8 else DType.I8)
    x = ctx.value("input")
    results = ctx.build.emit_all(
        layers.CHOOSE_QPARAMS,
        x=ctx.applier.tensor(x, "x"),
        quant_min=low,
        quant_max=high,
        eps=ctx.number("eps", float(np.finfo(np.float32).eps)),
        block_size=ctx.integers("block_size"),
        symmetric=kind == "SYMMETRIC",
        keepdim=ctx.flag("keepdim"),
        zero_dtype="i8" if int8_zeros else "i32",
    )
    return Results(results)


def _quant_range(ctx: CallContext, dtype: DType) -> tuple[int, int]:
    """The minimum and maximum of the quantized values."""
    low, high = layers.QUANT_RANGES[dtype]
    return ctx.integer("quant_min", low), ctx.integer("quant_max", high)


def _operands(ctx: CallContext) -> tuple[Tensor, layers.QParams]:
    """The input, scales and zero points, by torchao's or PT2E's argument names."""
    scale = _first(ctx, "scale", "scales")
    zero = _first(ctx, "zero_point", "zero_points")
    if zero is None:
        zero = np.zeros(scale.shape, np.int32) if scale is not None else None
    if scale is None or zero is None:
        raise Unsupported("it has no scale")
    if isinstance(zero, np.ndarray):
        zero = zero.astype(np.int32)
    found = {"x": ctx.value("input"), "scale": ctx.cast(scale, _FLOAT32), "zero_point": zero}
    tensors = {name: ctx.applier.tensor(value, f"{ctx.build.name}.{name}")
               for name, value in found.items()}  # fmt: skip
    axis, block_size = ctx.integer("axis", 0), ctx.integers("block_size")
    return tensors["x"], layers.QParams(tensors["scale"], tensors["zero_point"], axis, block_size)


def _first(ctx: CallContext, *names: str) -> Value | None:
    return next((ctx.value(name) for name in names if ctx.has(name)), None)


@imports("aten.fake_quantize_per_tensor_affine",
         "aten.fake_quantize_per_tensor_affine_cachemask",
         "aten.fake_quantize_per_channel_affine",
         "aten.fake_quantize_per_channel_affine_cachemask")  # fmt: skip
def fake_quantize(ctx: CallContext) -> Item:
    """The values that quantization represents, of quantization-aware training; with a mask of those
    in range, which is for gradients."""
    x = ctx.value("self")
    low, high = ctx.number("quant_min", 0), ctx.number("quant_max", 255)
    scale, zero = ctx.args["scale"], ctx.args["zero_point"]
    if ctx.has("axis"):
        shape = tuple(-1 if d == ctx.axis("axis", len(x.shape)) else 1 for d in range(len(x.shape)))
        scale, zero = (_of_channels(ctx, name, shape) for name in ("scale", "zero_point"))
    scale, zero = np.asarray(scale, np.float32), np.asarray(zero, np.float32)
    inverse = np.asarray(1 / scale, np.float32)
    steps = ctx.inner("aten.round", ctx.inner("aten.mul.Tensor", x, inverse))
    steps = ctx.inner("aten.add.Tensor", steps, zero)
    clamped = ctx.inner("aten.clamp", steps, low, high)
    y = ctx.typed(
        "aten.mul.Tensor",
        a=ctx.inner("aten.sub.Tensor", clamped, zero),
        b=scale,
    )
    if len(ctx.shapes) == 1:
        return y
    return Results((y, ctx.inner("aten.eq.Tensor", steps, clamped)))


def _of_channels(ctx: CallContext, name: str, shape: tuple[int, ...]) -> Array:
    found = ctx.value(name)
    if isinstance(found, Tensor):
        raise Unsupported(f"its argument '{name}' is not a constant")
    return found.reshape(shape)
