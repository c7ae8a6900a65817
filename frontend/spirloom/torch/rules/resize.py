"""Import rules of resizing, also with antialiasing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spirloom.builder import Value
from spirloom.ir import Array
from spirloom.sizes import is_symbolic
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import imports
from spirloom.torch.values import Item

_NEAREST = [f"aten.{n}{rank}d" for n in ("upsample_nearest", "_upsample_nearest_exact")
            for rank in (1, 2, 3)]  # fmt: skip
_INTERPOLATING = [f"aten.upsample_{name}" for name in
                  ("linear1d", "bilinear2d", "trilinear3d", "bicubic2d")]  # fmt: skip
_UPSAMPLE = [*_NEAREST, *_INTERPOLATING]


@imports(*_UPSAMPLE, *(f"{name}.vec" for name in _UPSAMPLE))
def upsample(ctx: CallContext) -> Item:
    """Resizing to the output size."""
    x = ctx.value("input") if "input" in ctx.args else ctx.value("self")
    size = ctx.shape()[2:]
    given: dict[str, object] = {"output_size": size}
    if "nearest" not in ctx.target:
        given["align_corners"] = ctx.flag("align_corners")
    op = ctx.target.removesuffix(".vec")
    if not ctx.flag("align_corners"):
        given |= _factors(ctx, op)
    if op in _NEAREST and not is_symbolic(x.shape):
        factors = [f for f in _factors(ctx, op).values() if isinstance(f, float)]
        ratios = [out / size for out, size in zip(size, x.shape[2:], strict=True)]
        if factors and factors != ratios:
            return _gathered(ctx, x, factors, 0.5 if "exact" in op else 0.0)
    return ctx.apply(op, x=x, **given)


def _gathered(ctx: CallContext, x: Value, factors: Sequence[float], center: float) -> Value:
    """The nearest elements by scale factors that are not the ratios of the sizes, in float32 as
    PyTorch computes them."""
    for dim, (factor, out) in enumerate(zip(factors, ctx.shape()[2:], strict=True), start=2):
        step = np.float32(1 / factor) if factor > 0 else np.float32(x.shape[dim] / out)
        places = ((np.arange(out, dtype=np.float32) + np.float32(center)) * step).astype(np.int64)
        x = ctx.inner("aten.index_select", x, dim=dim, index=np.minimum(places, x.shape[dim] - 1))
    return x


def _factors(ctx: CallContext, op: str) -> dict[str, object]:
    """The scale factors that the program states; they may differ from the ratio of the sizes."""
    names = [n for n in ctx.applier.library.arg_names(op) if n.startswith("scales")]
    listed = ctx.args.get("scale_factors")
    given = listed if isinstance(listed, tuple) else [ctx.args.get(name) for name in names]
    pairs = zip(names, given, strict=False)
    return {name: float(factor) for name, factor in pairs if isinstance(factor, int | float)}


def _triangle(x: Array) -> Array:
    found: Array = np.maximum(1 - np.abs(x), 0)
    return found


def _cubic(x: Array) -> Array:
    """Keys' cubic convolution with a = -0.5, as of Pillow."""
    x = np.abs(x)
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


# The filter of each operator, and its width.
_FILTERS: dict[str, tuple[Callable[[Array], Array], int]] = {
    "aten._upsample_bilinear2d_aa": (_triangle, 2),
    "aten._upsample_bicubic2d_aa": (_cubic, 4),
}


@imports(*_FILTERS, *(f"{name}.vec" for name in _FILTERS))
def antialiased(ctx: CallContext) -> Item:
    """Resizing with a filter that widens with the scale: one matmul per dimension."""
    x = ctx.value("input") if "input" in ctx.args else ctx.value("self")
    op = ctx.target.removesuffix(".vec")
    listed = ctx.args.get("scale_factors")
    factors = listed if isinstance(listed, tuple) else (ctx.args.get("scales_h"),
                                                        ctx.args.get("scales_w"))  # fmt: skip
    rows, columns = (
        _filter_matrix(op, x.shape[dim], ctx.shape()[dim], factors[dim - 2],
                       ctx.flag("align_corners")).astype(ctx.out_dtype())
        for dim in (2, 3)
    )  # fmt: skip
    if columns.shape[0] != columns.shape[1] or not np.array_equal(columns, np.eye(len(columns))):
        x = ctx.inner("aten.matmul", x, columns.T)
    return ctx.apply("aten.matmul", a=rows, b=x)


def _filter_matrix(op: str, size: int, out: int, factor: Item, align_corners: bool) -> Array:
    """The weight of each input (column) in each output (row)."""
    function, width = _FILTERS[op]
    if align_corners:
        scale = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        stated = isinstance(factor, int | float) and factor > 0
        scale = 1 / factor if stated else size / out
    widening = max(scale, 1.0)
    support = width / 2 * widening
    centers = scale * (np.arange(out) + 0.5)
    first = np.maximum((centers - support + 0.5).astype(int), 0)[:, None]
    end = np.minimum((centers + support + 0.5).astype(int), size)[:, None]
    index = np.arange(size)
    weights = function((index - centers[:, None] + 0.5) / widening)
    weights = np.where((index >= first) & (index < end), weights, 0)
    total = weights.sum(axis=1, keepdims=True)
    normalized: Array = np.divide(weights, total, where=total != 0, out=np.zeros_like(weights))
    return normalized
