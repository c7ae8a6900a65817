"""Import rules of quantization: block-wise operators of torchao, and those of PT2E.

`dequantize` of constants is not folded: the file stores the quantized values, and a pass fuses the
operator into the layer that reads them.
"""

from __future__ import annotations

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
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
    dtype = "f16" if ctx.out_dtype() == np.float16 else "f32"
    return ctx.build.emit("spirloom.dequantize", **_operands(ctx), dtype=dtype)


@imports("torchao.quantize_affine", "quantized_decomposed.quantize_per_channel",
         *(name.format("quantize") for name in _TENSOR))  # fmt: skip
def quantize(ctx: CallContext) -> Item:
    """Quantization of floats to int8 or uint8."""
    dtypes = {np.dtype(np.int8): "i8", np.dtype(np.uint8): "u8"}
    dtype = dtypes.get(ctx.out_dtype())
    if dtype is None:
        raise Unsupported(f"quantization to {ctx.out_dtype()} is not supported; int8 and uint8 are")
    low, high = _range(ctx, dtype)
    return ctx.build.emit(
        "spirloom.quantize", **_operands(ctx), quant_min=low, quant_max=high, dtype=dtype
    )


@imports("torchao.choose_qparams_affine", "quantized_decomposed.choose_qparams.tensor")
def choose_qparams(ctx: CallContext) -> Item:
    """Scale and zero point from the minimum and the maximum."""
    kind = ctx.text("mapping_type", "ASYMMETRIC")
    if kind not in ("ASYMMETRIC", "SYMMETRIC"):
        raise Unsupported(f"the mapping type {kind} is not supported")
    int8_zeros = ctx.dtypes[1] == np.int8 if len(ctx.dtypes) > 1 else False
    target = ctx.dtype("target_dtype") or ctx.dtype()
    low, high = _range(ctx, "u8" if target == np.uint8 else "i8")
    x = ctx.value("input")
    results = ctx.build.emit_all(
        "spirloom.choose_qparams",
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


def _range(ctx: CallContext, dtype: str) -> tuple[int, int]:
    low, high = (0, 255) if dtype == "u8" else (-128, 127)
    return ctx.integer("quant_min", low), ctx.integer("quant_max", high)


def _operands(ctx: CallContext) -> dict[str, object]:
    """The operands and the granularity of their scales, by torchao's or PT2E's argument names."""
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
    granularity: dict[str, object] = {}
    if "block_size" in ctx.args:
        granularity["block_size"] = ctx.integers("block_size")
    if "axis" in ctx.args:
        granularity["axis"] = ctx.integer("axis")
    return {**tensors, **granularity}


def _first(ctx: CallContext, *names: str) -> Value | None:
    return next((ctx.value(name) for name in names if ctx.has(name)), None)
