"""Resizing: the size of the result is the program's; factors must agree with it."""

from __future__ import annotations

from spirloom.errors import Unsupported
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
    if not ctx.flag("align_corners"):
        _check_factors(ctx, x.shape[2:], size)
    return ctx.apply(ctx.target.removesuffix(".vec"), x=x, **given)


def _check_factors(ctx: CallContext, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    """A factor that is not the ratio of the sizes would put the samples elsewhere."""
    factors = ctx.args.get("scale_factors") or [
        ctx.args.get(name) for name in ("scales", "scales_d", "scales_h", "scales_w")
        if name in ctx.args
    ]  # fmt: skip
    for factor, old, new in zip(factors, before, after, strict=False):
        if factor is not None and abs(old * factor - new) > 1e-6 * max(new, 1):
            raise Unsupported(
                f"it scales {old} by {factor} to {new}, and samples by the factor; set "
                "recompute_scale_factor=True, or give the size"
            )
