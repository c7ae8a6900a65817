"""What only delegates call, and several of our operators compute."""

from __future__ import annotations

from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.pte.kernels import by_target
from spirloom.torch.context import CallContext
from spirloom.torch.rules import RULES as TORCH_RULES
from spirloom.torch.rules.table import ImportRule
from spirloom.torch.values import Item


def prepacked(ctx: CallContext) -> Item:
    """Weights are packed when a graph is loaded."""
    return next(iter(ctx.args.values()))


def element(ctx: CallContext) -> Item:
    """A number that the host reads from an input: here an element of it, [1], which only calls
    take that have a tensor in its place."""
    x, *numbers = ctx.args.values()
    index = numbers[1] if len(numbers) == 2 else None
    if not isinstance(x, Tensor) or len(x.shape) != 1 or not isinstance(index, int):
        raise Unsupported("it reads a size from an input, which is known only when the graph runs")
    end = index + 1 if index != -1 else x.shape[0]
    return ctx.inner("aten.slice.Tensor", x, 0, index, end)


def clamped_convolution(ctx: CallContext) -> Item:
    """A convolution whose result is kept between bounds."""
    *given, low, high = ctx.args.values()
    names = by_target()["aten.convolution"].names
    args = dict(zip(names, given, strict=False))
    inner = CallContext(ctx.call, "aten.convolution", args, ctx.dtypes, ctx.shapes, ctx.applier)
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        raise Unsupported("its bounds are no numbers")
    x = TORCH_RULES["aten.convolution"](inner)
    return ctx.apply("aten.clamp", x=x, min=float(low), max=float(high))


def shuffled_numbers(ctx: CallContext) -> Item:
    """8-bit numbers in another scale, whose inverse is given, and moved."""
    x, scale, zero, inverse, y_zero, factor = ctx.args.values()
    if not isinstance(inverse, float) or inverse == 0:
        raise Unsupported(f"its inverse of a scale, {inverse}, must be a float that is not 0")
    y = ctx.inner("spirloom.rescale_i8", x, scale, zero, 1 / inverse, y_zero)
    return ctx.inner("aten.pixel_shuffle", y, factor)


RULES: dict[str, ImportRule] = {
    "et_vk.prepack": prepacked,
    "et_vk.select_as_symint": element,
    "et_vk.conv_with_clamp": clamped_convolution,
    "et_vk.q8ta_pixel_shuffle": shuffled_numbers,
}
