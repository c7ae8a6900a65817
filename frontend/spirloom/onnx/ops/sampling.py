"""Operators that sample images at points, or put them together from windows."""

from __future__ import annotations

from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.table import converts
from spirloom.onnx.terms import Unsupported

_MODES = {"bilinear": 0, "linear": 0, "nearest": 1, "bicubic": 2, "cubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


@converts("GridSample")
def grid_sample(ctx: NodeContext) -> Tensor:
    mode, padding = ctx.text("mode", "bilinear"), ctx.text("padding_mode", "zeros")
    if mode not in _MODES or padding not in _PADDINGS:
        raise Unsupported(f"mode '{mode}' with padding_mode '{padding}' is unknown")
    return ctx.build.emit(
        "aten.grid_sampler_2d",
        x=ctx.tensor(0),
        grid=ctx.tensor(1),
        interpolation_mode=_MODES[mode],
        padding_mode=_PADDINGS[padding],
        align_corners=bool(ctx.integer("align_corners", 0)),
    )


@converts("Col2Im")
def col2im(ctx: NodeContext) -> Tensor:
    size, kernel = ctx.constant_ints(1), ctx.constant_ints(2)
    pads = ctx.integers("pads") or [0, 0, 0, 0]
    if size is None or kernel is None or len(size) != 2 or len(kernel) != 2:
        raise Unsupported(f"the image {size} of blocks {kernel} does not have two dimensions")
    if pads[:2] != pads[2:]:
        raise Unsupported(f"its pads {pads} are uneven")
    return ctx.build.emit(
        "aten.col2im",
        x=ctx.tensor(0),
        output_size=tuple(size),
        kernel_size=tuple(kernel),
        dilation=tuple(ctx.integers("dilations") or (1, 1)),
        padding=tuple(pads[:2]),
        stride=tuple(ctx.integers("strides") or (1, 1)),
    )
