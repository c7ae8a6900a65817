"""Resizing: the size of the result is the program's."""

from __future__ import annotations

from spirloom.torch.context import CallContext
from spirloom.torch.rules.table import imports
from spirloom.torch.values import Item

_NEAREST = [f"aten.{n}{rank}d" for n in ("upsample_nearest", "_upsample_nearest_exact")
            for rank in (1, 2, 3)]  # fmt: skip
_SMOOTH = [f"aten.upsample_{n}" for n in ("linear1d", "bilinear2d", "trilinear3d", "bicubic2d")]


@imports(*(f"{name}{form}" for name in (*_NEAREST, *_SMOOTH) for form in ("", ".vec")))
def upsample(ctx: CallContext) -> Item:
    """To a size."""
    x = ctx.value("input") if "input" in ctx.args else ctx.value("self")
    size = ctx.shape()[2:]
    given: dict[str, object] = {"output_size": size}
    if "nearest" not in ctx.target:
        given["align_corners"] = ctx.flag("align_corners")
    op = ctx.target.removesuffix(".vec")
    if not ctx.flag("align_corners"):
        given |= _factors(ctx, op)
    return ctx.apply(op, x=x, **given)


def _factors(ctx: CallContext, op: str) -> dict[str, object]:
    """What torch divides places by, where the program names it: not always the sizes' ratio."""
    names = [n for n in ctx.applier.library.arg_names(op) if n.startswith("scales")]
    listed = ctx.args.get("scale_factors")
    given = listed if isinstance(listed, tuple) else [ctx.args.get(name) for name in names]
    pairs = zip(names, given, strict=False)
    return {name: float(factor) for name, factor in pairs if isinstance(factor, int | float)}
