"""Interval arithmetic of ONNX operators: output bounds from input bounds.

Operators without a rule have the bounds of the spec operators that they become, if these only
select elements (narrowing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from typing import Any

import numpy as np

from spirloom import interval
from spirloom.interval import EVERYTHING, Interval
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type

# Input bounds → output bounds. The last bound also applies to all further outputs.
Rule = Callable[[NodeContext, Sequence[Interval]], Sequence[Interval]]
RULES: dict[str, Rule] = {}


def bounds(*op_types: str) -> Callable[[Rule], Rule]:
    """Registers the decorated function as the rule of ONNX operators."""

    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(op_types, rule))
        return rule

    return register


@bounds("Scatter", "ScatterElements", "ScatterND")
def _scattered(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0] | x[2] if ctx.text("reduction", "none") == "none" else EVERYTHING]


@bounds("Pad")
def _padded(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    if ctx.text("mode", "constant") != "constant":
        return [x[0]]
    given = len(x) > 2 and ctx.optional(2) is not None
    return [x[0] | (x[2] if given else Interval(0, 0))]


@bounds("Range")
def _range(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0] | x[1]]


@bounds("Trilu")
def _trilu(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0] | Interval(0, 0)]


@bounds("OneHot")
def _one_hot(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[2]]


@bounds("Cast", "CastLike")
def _cast(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    kind = _target(ctx).kind
    if kind == "b":
        return [Interval(0, 1)]
    return [x[0] if kind == "f" else interval.cast_to_integer(x[0])]


def _target(ctx: NodeContext) -> np.dtype[Any]:
    """The target type of a cast."""
    if ctx.op_type == "Cast":
        return numpy_type(ctx.integer("to", 0))
    like = ctx.value(1)
    return like.dtype.numpy if isinstance(like, Tensor) else like.dtype


@bounds("ArgMax", "ArgMin")
def _arg_index(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.indices_of(_size(ctx, ctx.integer("axis", 0)))]


@bounds("TopK")
def _top_k(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0], interval.indices_of(_size(ctx, ctx.integer("axis", -1)))]


@bounds("NonMaxSuppression")
def _selected(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    """Indices of a batch, a class and a box; -1 beyond the valid rows."""
    return [Interval(-1, max(ctx.required(1).shape))]


@bounds("MaxPool")
def _max_pool(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0], interval.indices_of(prod(ctx.value(0).shape))]


@bounds("EyeLike", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor",
        "Not", "IsInf", "IsNaN")  # fmt: skip
def _boolean(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [Interval(0, 1)]


@bounds("HardSigmoid", "Sigmoid", "Softmax")
def _unit(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [Interval(0, 1, integral=False)]


@bounds("Add", "Sum")
def _sum(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    total = x[0]
    for other in x[1:]:
        total = total + other
    return [total]


@bounds("Sub")
def _difference(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0] - x[1]]


@bounds("Mul")
def _product(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0] * x[1]]


@bounds("Div")
def _quotient(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.quotient(x[0], x[1])]


@bounds("Mod")
def _remainder(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.remainder(x[0], x[1], like_dividend=bool(ctx.integer("fmod", 0)))]


@bounds("Pow")
def _power(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.power(x[0], x[1])]


@bounds("BitShift")
def _shifted(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.shifted(x[0], x[1], left=ctx.text("direction", "") == "LEFT")]


@bounds("Neg")
def _negative(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [-x[0]]


@bounds("Abs")
def _absolute(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [abs(x[0])]


@bounds("Sign")
def _sign(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.sign(x[0])]


@bounds("Relu")
def _relu(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0].clamped(low=0)]


@bounds("Max")
def _maximum(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.maximum(*x)]


@bounds("Min")
def _minimum(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.minimum(*x)]


@bounds("Clip")
def _clip(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    if ctx.opset < 11:  # floats only
        clamped = x[0].clamped(ctx.number("min", -inf), ctx.number("max", inf))
        return [Interval(clamped.low, clamped.high, integral=False)]
    given = [i for i in (1, 2) if ctx.optional(i) is not None]
    low = x[1].low if 1 in given else -inf
    high = x[2].high if 2 in given else inf
    clamped = x[0].clamped(low, high)
    return [Interval(clamped.low, clamped.high, all(x[i].integral for i in (0, *given)))]


@bounds("Floor")
def _floor(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0].floored()]


@bounds("Ceil")
def _ceil(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [-(-x[0]).floored()]


@bounds("Round")
def _round(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.rounded(x[0])]


@bounds("ReduceMean", "ReduceSum")  # of integers: the sum is computed first
def _sum_reduction(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0] * Interval(0, prod(ctx.value(0).shape))]


@bounds("CumSum")
def _cumulative_sum(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    axis = ctx.constant_ints(1)
    assert axis is not None  # checked by the converter
    return [x[0] * Interval(0, _size(ctx, axis[0]))]


@bounds("MatMul")
def _matrix_product(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0] * x[1] * Interval(0, _size(ctx, -1))]


@bounds("Gemm")
def _scaled_product(ctx: NodeContext, x: Sequence[Interval]) -> Sequence[Interval]:
    """alpha · a · b + beta · c."""
    inner = Interval(0, _size(ctx, 0 if ctx.integer("transA", 0) else 1))
    product = x[0] * x[1] * inner * _exactly(ctx.number("alpha", 1.0))
    if ctx.optional(2) is None:
        return [product]
    return [product + x[2] * _exactly(ctx.number("beta", 1.0))]


def _exactly(value: float) -> Interval:
    return Interval(value, value, integral=value.is_integer())


def _size(ctx: NodeContext, axis: int) -> int:
    shape = ctx.value(0).shape
    return shape[ctx.axis(axis, len(shape))] if shape else 1


def bounds_of(ctx: NodeContext, inputs: Sequence[Interval], count: int) -> Sequence[Interval]:
    """The bounds of the first `count` outputs. EVERYTHING for operators without a rule."""
    rule = RULES.get(ctx.op_type)
    found = [EVERYTHING] if rule is None else list(rule(ctx, inputs))
    return [found[min(i, len(found) - 1)] for i in range(count)]
