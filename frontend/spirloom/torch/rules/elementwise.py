"""Import rules of elementwise operators, and torch operators renamed to specs' names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from spirloom.errors import InTrainingMode
from spirloom.ir import Tensor
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import Results, imports
from spirloom.torch.values import Item


@dataclass(frozen=True, slots=True)
class Rename:
    """A spec's operator, its arguments whose names differ from torch's, and fixed arguments."""

    op: str
    names: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Item] = field(default_factory=dict)


RENAMES: dict[str, Rename] = {
    "aten.__and__.Tensor": Rename("aten.bitwise_and.Tensor"),
    "aten.__or__.Tensor": Rename("aten.bitwise_or.Tensor"),
    "aten.__xor__.Tensor": Rename("aten.bitwise_xor.Tensor"),
    "aten.__lshift__.Tensor": Rename("aten.bitwise_left_shift.Tensor"),
    "aten.__rshift__.Tensor": Rename("aten.bitwise_right_shift.Tensor"),
    "aten.__and__.Scalar": Rename("aten.bitwise_and.Tensor"),
    "aten.__or__.Scalar": Rename("aten.bitwise_or.Tensor"),
    "aten.__xor__.Scalar": Rename("aten.bitwise_xor.Tensor"),
    "aten.__lshift__.Scalar": Rename("aten.bitwise_left_shift.Tensor"),
    "aten.__rshift__.Scalar": Rename("aten.bitwise_right_shift.Tensor"),
    "aten.true_divide.Tensor": Rename("aten.div.Tensor"),
    "aten.true_divide.Scalar": Rename("aten.div.Tensor"),
    "aten.divide.Tensor": Rename("aten.div.Tensor"),
    "aten.divide.Scalar": Rename("aten.div.Tensor"),
    "aten.divide.Tensor_mode": Rename("aten.div.Tensor_mode"),
    "aten.multiply.Tensor": Rename("aten.mul.Tensor"),
    "aten.multiply.Scalar": Rename("aten.mul.Tensor"),
    "aten.subtract.Tensor": Rename("aten.sub.Tensor"),
    "aten.subtract.Scalar": Rename("aten.sub.Tensor"),
    "aten.greater.Tensor": Rename("aten.gt.Tensor"),
    "aten.greater_equal.Tensor": Rename("aten.ge.Tensor"),
    "aten.less.Tensor": Rename("aten.lt.Tensor"),
    "aten.less_equal.Tensor": Rename("aten.le.Tensor"),
    "aten.not_equal.Tensor": Rename("aten.ne.Tensor"),
    "aten.arctan2": Rename("aten.atan2"),
    "aten.negative": Rename("aten.neg"),
    "aten.absolute": Rename("aten.abs"),
    "aten.special_expit": Rename("aten.sigmoid"),
    "aten.special_erf": Rename("aten.erf"),
    "aten.relu6": Rename("aten.hardtanh", fixed={"min_val": 0.0, "max_val": 6.0}),
    "aten.grid_sampler": Rename("aten.grid_sampler_2d"),
    "aten.concat": Rename("aten.cat"),
    "aten.concatenate": Rename("aten.cat"),
    "aten.special_logit": Rename("aten.logit"),
    "aten.fix": Rename("aten.trunc"),
}


@imports("aten.rsub.Scalar", "aten.rsub.Tensor")
def rsub(ctx: CallContext) -> Item:
    """other - alpha * self."""
    if ctx.number("alpha", 1) != 1:
        scaled = ctx.apply("aten.mul.Tensor", a=ctx.value("self"), b=ctx.number("alpha", 1))
        return ctx.apply("aten.sub.Tensor", a=ctx.args["other"], b=scaled)
    return ctx.apply("aten.sub.Tensor", a=ctx.args["other"], b=ctx.value("self"))


@imports("aten.add.Tensor", "aten.add.Scalar")
def add(ctx: CallContext) -> Item:
    """self + alpha * other; the disjunction of bools."""
    a, b, alpha = ctx.args["self"], ctx.args["other"], ctx.number("alpha", 1)
    if ctx.out_or_none() != np.bool_:
        return ctx.apply("aten.add.Tensor", a=a, b=b, alpha=alpha)
    return ctx.apply("aten.logical_or", a=a, b=b) if alpha else ctx.value("self")


@imports("aten.round.decimals")
def rounded(ctx: CallContext) -> Item:
    """Rounding to decimal places; negative: to a power of ten."""
    x, decimals = ctx.value("self"), ctx.integer("decimals", 0)
    if decimals == 0 or ctx.out_dtype().kind != "f":
        return ctx.apply("aten.round", x=x)
    power = ctx.filled(10.0 ** abs(decimals), ())
    scale, unscale = "aten.mul.Tensor", "aten.div.Tensor"
    if decimals < 0:
        scale, unscale = unscale, scale
    scaled = ctx.apply("aten.round", x=ctx.apply(scale, a=x, b=power))
    return ctx.apply(unscale, a=scaled, b=power)


@imports("aten.clamp_min", "aten.clamp_max", "aten.clamp", "aten.clip")
def clamp(ctx: CallContext) -> Item:
    """Clamp to numbers; one bound may be absent."""
    given = {n: ctx.number(n, 0) for n in ("min", "max") if ctx.has(n)}
    return ctx.apply("aten.clamp", x=ctx.value("self"), **given)


@imports("aten.clamp.Tensor", "aten.clamp_min.Tensor", "aten.clamp_max.Tensor")
def clamp_tensor(ctx: CallContext) -> Item:
    """Clamp to tensors; one bound may be absent."""
    x: Item = ctx.value("self")
    if ctx.has("min") and ctx.has("max") and ctx.target == "aten.clamp.Tensor":
        names = ctx.applier.library.arg_names("aten.clamp.Tensor")
        limits = zip(names[1:], (ctx.value("min"), ctx.value("max")), strict=True)
        return ctx.apply("aten.clamp.Tensor", x=x, **dict(limits))
    if ctx.has("min"):
        x = ctx.apply("aten.maximum", a=x, b=ctx.value("min"))
    return ctx.apply("aten.minimum", a=x, b=ctx.value("max")) if ctx.has("max") else x


@imports("aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar",
         "aten.where.self")  # fmt: skip
def where(ctx: CallContext) -> Item:
    """Select by a condition, with both operands of the result's type."""
    condition = ctx.cast(ctx.value("condition"), np.dtype(np.bool_))
    a, b = (ctx.cast(ctx.args[n], ctx.out_dtype()) for n in ("self", "other"))
    return ctx.apply("aten.where.self", condition=condition, a=a, b=b)


@imports("aten.masked_fill.Tensor", "aten.masked_fill.Scalar")
def masked_fill(ctx: CallContext) -> Item:
    """A value where the mask is true."""
    x, mask, value = ctx.value("self"), ctx.value("mask"), ctx.args["value"]
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0].item()
    mask = ctx.cast(mask, np.dtype(np.bool_))
    if isinstance(value, Tensor):
        filled = ctx.cast(value, ctx.out_dtype())
        return ctx.apply("aten.where.self", condition=mask, a=filled, b=x)
    return ctx.apply("aten.masked_fill.Scalar", a=x, b=mask, value=value)


@imports("aten.angle")
def angle(ctx: CallContext) -> Item:
    """Of real values: π of negative ones, 0 of others, NaN of NaN."""
    dtype = ctx.out_dtype()
    x = ctx.cast(ctx.value("self"), dtype)
    zero, pi = np.zeros((), dtype), np.asarray(np.pi, dtype)
    found = ctx.inner("aten.where.self", ctx.inner("aten.lt.Tensor", x, zero), pi, zero)
    return ctx.inner("aten.where.self", ctx.inner("aten.isnan", x), x, found)


@imports("aten.rrelu", "aten.rrelu_with_noise", "aten.rrelu_with_noise_functional")
def rrelu(ctx: CallContext) -> Item:
    """In evaluation mode, a leaky ReLU with the mean slope. The noise has no effect."""
    if ctx.flag("training"):
        raise InTrainingMode("generates random values")
    slope = (ctx.number("lower", 1 / 8) + ctx.number("upper", 1 / 3)) / 2
    y = ctx.typed("aten.leaky_relu", x=ctx.value("self"), negative_slope=slope)
    return Results((y, ctx.args["noise"])) if len(ctx.shapes) > 1 else y


@imports("aten.pow.Tensor_Scalar")
def power(ctx: CallContext) -> Item:
    """Integer bases give integers."""
    x, exponent = ctx.value("self"), ctx.number("exponent", 2)
    if ctx.out_dtype().kind in "iu":
        return ctx.apply("aten.pow.Tensor_Tensor", a=x, b=ctx.filled(exponent, ()))
    return ctx.apply("aten.pow.Tensor_Scalar", x=x, exponent=float(exponent))


@imports("aten.isin.Tensor_Scalar")
def isin(ctx: CallContext) -> Item:
    """Comparison with a single value."""
    op = "aten.ne.Tensor" if ctx.flag("invert") else "aten.eq.Tensor"
    return ctx.apply(op, a=ctx.value("elements"), b=ctx.args["test_element"])
