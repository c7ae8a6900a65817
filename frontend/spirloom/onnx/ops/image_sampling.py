"""RoiAlign, GridSample and Col2Im."""

from __future__ import annotations

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts

# Modes of aten.grid_sampler_2d.
BILINEAR = 0
BORDER = 1


@converts("RoiAlign")
def roi_align(ctx: NodeContext) -> Tensor:
    """Each cell is the mean of `sampling_ratio`² bilinear samples. Samples more than one element
    outside the image are 0.
    """
    x, ratio = ctx.tensor(0), ctx.integer("sampling_ratio", 0)
    size = ctx.integer("output_height", 1), ctx.integer("output_width", 1)
    if ctx.text("mode", "avg") != "avg" or ratio < 1 or len(x.shape) != 4:
        raise Unsupported("only mode 'avg' with a positive sampling_ratio is supported")
    coordinates, inside = zip(
        *(_roi_samples(ctx, d, size[d] * ratio) for d in range(2)), strict=True
    )
    regions = ctx.ranked(1, 2).shape[0]
    full = (regions, size[0] * ratio, size[1] * ratio, 1)
    vertical, horizontal = (
        ctx.build.emit("aten.expand", x=ctx.build.view(p, shape), size=full)
        for p, shape in zip(coordinates, _lines(full), strict=True)
    )
    images = ctx.build.emit("aten.index_select", x=x, dim=0, index=ctx.tensor(2))
    samples = ctx.build.emit(
        "aten.grid_sampler_2d",
        x=images,
        grid=ctx.build.cat((horizontal, vertical), 3),
        interpolation_mode=BILINEAR,
        padding_mode=BORDER,
        align_corners=True,
    )
    for mask, (regions_, rows, columns, _) in zip(inside, _lines(full), strict=True):
        samples = ctx.build.mul(samples, ctx.build.view(mask, (regions_, 1, rows, columns)))
    return ctx.build.emit(
        "aten.avg_pool2d", x=samples, kernel_size=(ratio, ratio), stride=(ratio, ratio)
    )


def _lines(full: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
    """The shapes of values per row, and per column, of the regions."""
    regions, rows, columns, _ = full
    return [(regions, rows, 1, 1), (regions, 1, columns, 1)]


def _roi_samples(ctx: NodeContext, dim: int, count: int) -> tuple[Tensor, Tensor]:
    """Sample coordinates along a dimension, from -1 to 1, and the mask of samples inside."""
    build, regions, size = ctx.build, ctx.tensor(1), ctx.tensor(0).shape[2 + dim]
    default = "half_pixel" if ctx.opset >= 16 else "output_half_pixel"
    centered = ctx.text("coordinate_transformation_mode", default) == "half_pixel"

    def scalar(value: float) -> Tensor:
        return build.scalar(value, regions.dtype)

    def edge(column: int) -> Tensor:
        scaled = build.mul(
            build.slice(regions, 1, column, column + 1), ctx.number("spatial_scale", 1.0)
        )
        return build.add(scaled, scalar(-0.5)) if centered else scaled

    start, end = edge(1 - dim), edge(3 - dim)
    extent = build.emit("aten.sub.Tensor", a=end, b=start)
    if not centered:
        extent = build.emit("aten.maximum", a=extent, b=scalar(1.0))
    fractions = build.constant(((np.arange(count) + 0.5) / count).astype(regions.dtype.numpy))
    coordinate = build.add(start, build.mul(extent, fractions))
    inside = [
        build.emit("aten.ge.Tensor", a=coordinate, b=scalar(-1.0)),
        build.emit("aten.le.Tensor", a=coordinate, b=scalar(size)),
    ]
    both = build.emit("aten.logical_and", a=inside[0], b=inside[1])
    mask = build.cast(both, regions.dtype)
    clamped = build.emit("aten.clamp", x=coordinate, min=0.0, max=size - 1.0)
    scale = 2 / max(size - 1, 1)
    return build.add(build.mul(clamped, scale), scalar(-1.0)), mask


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
        raise Unsupported(f"its image {size} and blocks {kernel} must have two dimensions")
    if pads[:2] != pads[2:]:
        raise Unsupported(f"its pads {pads} are not symmetric")
    return ctx.build.emit(
        "aten.col2im",
        x=ctx.tensor(0),
        output_size=tuple(size),
        kernel_size=tuple(kernel),
        dilation=tuple(ctx.integers("dilations") or (1, 1)),
        padding=tuple(pads[:2]),
        stride=tuple(ctx.integers("strides") or (1, 1)),
    )
