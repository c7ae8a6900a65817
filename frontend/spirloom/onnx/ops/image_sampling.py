"""RoiAlign, AffineGrid, GridSample and Col2Im."""

from __future__ import annotations

from spirloom.errors import Unsupported
from spirloom.ir import DType, Tensor
from spirloom.number_expr import FORMULAS, SymFloat
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts
from spirloom.sizes import is_symbolic

# A mode of aten.grid_sampler_2d.
BILINEAR = 0


@converts("RoiAlign")
def roi_align(ctx: NodeContext) -> Tensor:
    """torchvision's roi_align: the mean of `sampling_ratio`² samples of each cell, or, if that is
    0, of as many as it has elements.
    """
    x, regions, mode = ctx.ranked(0, 4), ctx.ranked(1, 2), ctx.text("mode", "avg")
    if mode != "avg":
        raise Unsupported(f"its mode '{mode}' is not supported; mode 'avg' is")
    default = "half_pixel" if ctx.opset >= 16 else "output_half_pixel"
    centered = ctx.text("coordinate_transformation_mode", default) == "half_pixel"
    regions = ctx.build.cast(regions, DType.F32)
    images = ctx.build.view(ctx.build.cast(ctx.tensor(2), DType.F32), (regions.shape[0], 1))
    return ctx.build.emit(
        "torchvision.roi_align",
        x=x,
        rois=ctx.build.cat((images, regions), 1),
        spatial_scale=ctx.number("spatial_scale", 1.0),
        pooled_height=ctx.integer("output_height", 1),
        pooled_width=ctx.integer("output_width", 1),
        sampling_ratio=ctx.integer("sampling_ratio", 0),
        aligned=centered,
    )


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
