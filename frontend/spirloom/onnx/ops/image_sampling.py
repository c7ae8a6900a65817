"""RoiAlign, AffineGrid, GridSample and Col2Im."""

from __future__ import annotations

import numpy as np

from spirloom.errors import Unsupported
from spirloom.ir import DType, Tensor
from spirloom.number_expr import FORMULAS, SymFloat
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts
from spirloom.sizes import is_symbolic

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
    mode = ctx.text("mode", "avg")
    if mode != "avg" or len(x.shape) != 4:
        raise Unsupported(f"its mode '{mode}' of {x} is not supported; mode 'avg' of images is")
    if ratio < 1:
        raise Unsupported(
            "its sampling_ratio 0 takes as many samples as a region has elements, which depends on "
            "the data; export the model with a fixed sampling_ratio, such as 2"
        )
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


@converts("AffineGrid")
def affine_grid(ctx: NodeContext) -> Tensor:
    """The coordinates that `theta` [batch, dims, dims + 1] makes of those of each element.

    ONNX's definition as a function does not fit a batch of 1: it squeezes it.
    """
    theta, size = ctx.ranked(0, 3), ctx.constant_ints(1) or []
    dims = len(size) - 2
    if dims not in (2, 3) or theta.shape != (size[0], dims, dims + 1):
        raise Unsupported(f"its theta {theta} does not fit the size {size}")
    aligned = bool(ctx.integer("align_corners", 0))

    def column(index: int) -> Tensor:
        part = ctx.build.slice(theta, 2, index, index + 1)
        return ctx.build.view(part, [size[0], *[1] * dims, dims])

    grid = column(dims)
    for axis, count in enumerate(size[2:]):
        line = _grid_line(ctx, count, aligned, theta.dtype)
        line = ctx.build.view(line, [count, *[1] * (dims - axis)])
        # The first column is of the last dimension.
        grid = ctx.build.add(ctx.build.mul(column(dims - 1 - axis), line), grid)
    return grid


def _grid_line(ctx: NodeContext, count: int, aligned: bool, dtype: DType) -> Tensor:
    """The coordinates of elements along a dimension: -1 to 1 are the centers of the first and last
    element if `aligned`, otherwise the borders. One aligned element is at 0,
    as in PyTorch; ONNX divides by zero."""
    symbolic, number = is_symbolic((count,)), FORMULAS
    if aligned:
        gaps = number["sub"](count, 1)
        step = number["div"](2, number["max"](gaps, 1))
        start = number["mul"](-1, number["min"](gaps, 1))
    else:
        step, start = number["div"](2, count), number["sub"](number["div"](1, count), 1)
    line = ctx.arange(count, DType.F32)
    for op, value in (("mul", step), ("add", start)):
        assert isinstance(value, SymFloat)
        if symbolic:
            other = ctx.build.number(value, DType.F32)
        else:
            other = ctx.build.scalar(value.value, DType.F32)
        line = ctx.build.emit(f"aten.{op}.Tensor", a=line, b=other)
    return ctx.build.cast(line, dtype)


_MODES = {"bilinear": 0, "linear": 0, "nearest": 1, "bicubic": 2, "cubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


@converts("GridSample")
def grid_sample(ctx: NodeContext) -> Tensor:
    mode, padding = ctx.text("mode", "bilinear"), ctx.text("padding_mode", "zeros")
    if mode not in _MODES or padding not in _PADDINGS:
        raise Unsupported(f"mode '{mode}' with padding_mode '{padding}' is unknown")
    if len(ctx.tensor(0).shape) != 4:
        raise Unsupported(f"its input {ctx.tensor(0)} is not a batch of images of rank 4")
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
