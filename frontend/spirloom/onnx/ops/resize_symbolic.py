"""Resize of dimensions with symbolic sizes, by PyTorch's upsampling."""

from __future__ import annotations

import numpy as np

from spec_model.symbolic import size_of
from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.ops.resize_axes import Axis, coordinates_of, rounded_positions
from spirloom.size_tables import formula_of, tables
from spirloom.sizes import SymInt, is_symbolic

# A size at which the pattern of a nearest resize by an integer factor is compared.
_COMPARED = 8


def resize_symbolic(ctx: NodeContext, x: Tensor, mode: str) -> Tensor:
    """The resized tensor. Raises Unsupported where PyTorch's operators are not proven equal."""
    sizes = _output_sizes(ctx, x.shape)
    pairs = list(zip(sizes, x.shape, strict=True))
    changed = [d for d, (out, size) in enumerate(pairs) if size_of(out) != size_of(size)]
    if mode == "nearest" or not changed:
        ctx.without_effect("cubic_coeff_a")
    if mode != "nearest" or not changed:
        ctx.without_effect("nearest_mode", *([] if mode == "cubic" else ["cubic_coeff_a"]))
    if not changed:
        return x
    options = (ctx.integer("antialias", 0), ctx.integer("exclude_outside", 0))
    if len(x.shape) != 4 or min(changed) < 2 or options != (0, 0):
        raise Unsupported(f"it resizes {list(x.shape)} to {sizes}, which are not planes")
    factors = {size_of(out) - size_of(size) * _factor(out, size) for out, size in pairs}
    is_multiple = factors == {size_of(0)}
    output_size = tuple(sizes[2:])
    if mode == "nearest":
        if is_multiple and all(_repeats(ctx, _factor(*pairs[d])) for d in changed):
            return ctx.build.emit("aten.upsample_nearest2d", x=x, output_size=output_size)
    elif mode != "cubic" or ctx.number("cubic_coeff_a", -0.75) == -0.75:
        coordinates = coordinates_of(ctx)
        op = f"aten.upsample_bi{'cubic' if mode == 'cubic' else 'linear'}2d"
        if coordinates == "align_corners":
            return ctx.build.emit(op, x=x, output_size=output_size, align_corners=True)
        half_pixel = coordinates == "half_pixel" or (
            coordinates == "pytorch_half_pixel" and all(sizes[d] > 1 for d in changed)
        )
        if half_pixel and (is_multiple or ctx.known(3) is not None):
            return ctx.build.emit(op, x=x, output_size=output_size, align_corners=False)
    raise Unsupported(f"its resize of {list(x.shape)} to {sizes} is supported for fixed sizes only")


def _output_sizes(ctx: NodeContext, shape: tuple[int, ...]) -> list[int]:
    if ctx.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise Unsupported("keep_aspect_ratio_policy is not supported")
    if coordinates_of(ctx) == "tf_crop_and_resize":
        raise Unsupported("tf_crop_and_resize is supported for fixed sizes only")
    ctx.without_effect("extrapolation_value")
    dims = [ctx.axis(d, len(shape)) for d in ctx.integers("axes") or range(len(shape))]
    given = ctx.constant_ints(3)
    if not given:
        scales = ctx.constant(1 if ctx.opset < 11 else 2) if ctx.opset >= 9 else None
        factors = ctx.floats("scales") if scales is None else scales.reshape(-1).tolist()
        given = [_scaled(shape[d], factor) for d, factor in zip(dims, factors, strict=False)]
    if len(given) != len(dims):
        raise Unsupported(f"its scales or sizes do not fit the shape {list(shape)}")
    sizes = dict(enumerate(shape)) | dict(zip(dims, given, strict=True))
    return list(sizes.values())


def _scaled(size: int, factor: float) -> int:
    """The product, computed in float32 and rounded down as in ONNX's shape inference."""
    if factor == int(factor):
        return size * int(factor)
    if not isinstance(size, SymInt):
        return int(np.float32(size) * np.float32(factor))
    index, (table,) = tables([size])
    products = table.astype(np.float32) * np.float32(factor)
    found = formula_of(index, np.floor(products).astype(np.int64))
    if not isinstance(found, int) or size_of(found) == size_of(size):
        raise Unsupported(f"{size} times {factor} has no formula")
    return found


def _factor(out: int, size: int) -> int:
    """The integer that out is a multiple of size by, if it is one."""
    if not is_symbolic((out, size)):
        return out // max(size, 1)
    most = int(size_of(size).value({s.name: s.max for s in size_of(size).symbols}))
    return int(size_of(out).value({s.name: s.max for s in size_of(out).symbols})) // max(most, 1)


def _repeats(ctx: NodeContext, factor: int) -> bool:
    """Whether a nearest resize by an integer factor repeats each element. The pattern is periodic,
    so that one size proves it.
    """
    count = _COMPARED * factor
    axis = Axis(0, _COMPARED, count, float(factor), (0.0, 1.0), stated=True)
    return bool((rounded_positions(ctx, axis) == np.arange(count) // max(factor, 1)).all())
