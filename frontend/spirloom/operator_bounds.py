"""Interval arithmetic for value bounds: the bounds of operators' results, by names and traits of
specs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf, prod

from spec_model.traits import Trait
from spirloom import interval
from spirloom.interval import EVERYTHING, Interval, hull
from spirloom.ir import DType, Tensor
from spirloom.number_expr import SymFloat, number_of
from spirloom.ops import OpLibrary
from spirloom.registration import registers
from spirloom.sizes import SymInt, upper

Args = Mapping[str, object]
# Computes the bounds of all outputs from the arguments and the tensors' bounds, in order.
Rule = Callable[[Args, Sequence[Interval]], Interval]
RULES: dict[str, Rule] = {}
rule = registers(RULES)


def bounds_of(
    library: OpLibrary, op: str, args: Args, of: Callable[[object], Interval], count: int
) -> Sequence[Interval]:
    """The bounds of the outputs; EVERYTHING for an operator without a rule or a trait."""
    tensors = _tensors(args)
    found = EVERYTHING
    if op in _OF_OPERANDS:
        found = _OF_OPERANDS[op](*map(of, tensors))
    elif op in RULES:
        found = RULES[op](args, [of(tensor) for tensor in tensors])
    elif library.has_trait(op, Trait.SELECTS, args):
        # Bounds of constants require a pass over their elements.
        values = [of(tensor) for tensor in library.value_tensors(op, args)]
        found = hull(values) if values else EVERYTHING
    dtypes = library.output_dtypes(op) if library.has(op) else []
    indices = library.has_trait(op, Trait.RETURNS_INDICES)
    bounds = [found] * count
    for i, dtype in enumerate(dtypes[:count]):
        if dtype is DType.B8:
            bounds[i] = Interval(0, 1)
        elif dtype is DType.I32 and indices:
            bounds[i] = interval.indices_of(_indexed(tensors[0], args.get("dim")))
    return bounds


def _indexed(x: Tensor, dim: object) -> int:
    """The number of elements that indices count: of one dimension, or of all."""
    if isinstance(dim, tuple) and len(dim) == 1:
        (dim,) = dim
    return upper(x.shape[dim] if isinstance(dim, int) and x.shape else prod(x.shape))


def _tensors(args: Args) -> list[Tensor]:
    items = [i for v in args.values() for i in (v if isinstance(v, tuple) else (v,))]
    return [item for item in items if isinstance(item, Tensor)]


def _scalar(args: Args, name: str, default: float) -> float:
    value = args.get(name, default)
    return value if isinstance(value, int | float) else default


# Functions of the operands' bounds only.
_OF_OPERANDS: dict[str, Callable[..., Interval]] = {
    "aten._safe_softmax": lambda x: Interval(0, 1, integral=False),
    "aten._softmax": lambda x: Interval(0, 1, integral=False),
    "aten.abs": abs,
    "aten.bitwise_left_shift.Tensor": partial(interval.shifted, left=True),
    "aten.bitwise_right_shift.Tensor": partial(interval.shifted, left=False),
    "aten.ceil": Interval.ceiled,
    "aten.floor": Interval.floored,
    "aten.floor_divide": partial(interval.quotient, floors=True),
    "aten.fmod.Tensor": partial(interval.remainder, like_dividend=True),
    "aten.hardsigmoid": lambda x: Interval(0, 1, integral=False),
    "aten.maximum": interval.maximum,
    "aten.minimum": interval.minimum,
    "aten.mul.Tensor": operator.mul,
    "aten.neg": operator.neg,
    "aten.one_hot": lambda x: Interval(0, 1),
    "aten.pow.Tensor_Tensor": interval.power,
    "aten.relu": partial(Interval.clamped, low=0),
    "aten.remainder.Tensor": partial(interval.remainder, like_dividend=False),
    "aten.round": interval.rounded,
    "aten.sigmoid": lambda x: Interval(0, 1, integral=False),
    "aten.sign": interval.sign,
    "aten.square": interval.square,
    "aten.tril": partial(operator.or_, Interval(0, 0)),
    "aten.triu": partial(operator.or_, Interval(0, 0)),
    "aten.trunc": interval.rounded,
}


@rule("aten.div.Tensor_mode")
def _quotient(args: Args, x: Sequence[Interval]) -> Interval:
    a, b = x
    return interval.quotient(a, b, floors=args["rounding_mode"] == "floor")


@rule("aten.full")
def _filled(args: Args, x: Sequence[Interval]) -> Interval:
    return _number(args["fill_value"])


def _exactly(value: object) -> Interval:
    assert isinstance(value, int | float)
    return Interval(value, value, float(value).is_integer())


@rule("aten.constant_pad_nd", "aten.masked_fill.Scalar")
def _padded(args: Args, x: Sequence[Interval]) -> Interval:
    return x[0] | _exactly(_scalar(args, "value", 0))


@rule("aten._to_copy")
def _cast(args: Args, x: Sequence[Interval]) -> Interval:
    kind = args.get("dtype")
    if kind == "b8":
        return Interval(0, 1)
    return x[0] if kind in ("f32", "f16") else interval.rounded(x[0])


@rule("aten.add.Tensor")
def _sum(args: Args, x: Sequence[Interval]) -> Interval:
    return x[0] + _scaled(x[1], _scalar(args, "alpha", 1))


@rule("aten.sub.Tensor")
def _difference(args: Args, x: Sequence[Interval]) -> Interval:
    return x[0] - _scaled(x[1], _scalar(args, "alpha", 1))


def _scaled(x: Interval, by: float) -> Interval:
    return x * _exactly(by)


@rule("aten.clamp", "aten.hardtanh")
def _clamp(args: Args, x: Sequence[Interval]) -> Interval:
    low = _scalar(args, "min", _scalar(args, "min_val", -inf))
    high = _scalar(args, "max", _scalar(args, "max_val", inf))
    return x[0].clamped(low, high)


@rule("aten.clamp.Tensor")
def _clamp_to_tensors(args: Args, x: Sequence[Interval]) -> Interval:
    limits = iter(x[1:])
    found = x[0]
    for name, limited in (("low", interval.maximum), ("high", interval.minimum)):
        if isinstance(args[name], Tensor):
            found = limited(found, next(limits))
    return found


@rule("aten.sum.dim_IntList", "aten.nansum")
def _total(args: Args, x: Sequence[Interval]) -> Interval:
    (first, *_) = _tensors(args)
    return x[0] * Interval(0, upper(prod(first.shape)))


@rule("aten.count_nonzero.dim_IntList")
def _count(args: Args, x: Sequence[Interval]) -> Interval:
    (first, *_) = _tensors(args)
    return Interval(0, upper(prod(first.shape)))


@rule("aten.cumsum")
def _running_total(args: Args, x: Sequence[Interval]) -> Interval:
    (first, *_) = _tensors(args)
    dim = args.get("dim")
    size = first.shape[dim] if isinstance(dim, int) and first.shape else 1
    return x[0] * Interval(0, upper(size))


@rule("aten.matmul", "aten.mm", "aten.bmm")
def _matrix_product(args: Args, x: Sequence[Interval]) -> Interval:
    (first, *_) = _tensors(args)
    return x[0] * x[1] * Interval(0, upper(first.shape[-1]))


@rule("aten.arange.start_step")
def _counted(args: Args, x: Sequence[Interval]) -> Interval:
    """From the start to the end, which are numbers that may depend on sizes."""
    start, end, step = (_number(args[name]) for name in ("start", "end", "step"))
    return replace(start | end, integral=start.integral and step.integral)


def _number(value: object) -> Interval:
    return number_of(value).bounds() if isinstance(value, SymInt | SymFloat) else _exactly(value)


@rule("aten.addmm", "aten.baddbmm")
def _scaled_product(args: Args, x: Sequence[Interval]) -> Interval:
    """beta · c + alpha · a @ b."""
    a = args["a"]
    assert isinstance(a, Tensor)
    inner = Interval(0, upper(a.shape[-1]))
    product = _scaled(x[1] * x[2] * inner, _scalar(args, "alpha", 1))
    return product + _scaled(x[0], _scalar(args, "beta", 1))


@rule("spirloom.nms")
def _selected(args: Args, x: Sequence[Interval]) -> Interval:
    """Indices of boxes; -1 after the last one."""
    scores = args["scores"]
    assert isinstance(scores, Tensor)
    return Interval(-1, upper(scores.shape[-1]) - 1)


@rule("aten.bitwise_and.Tensor", "aten.bitwise_or.Tensor", "aten.bitwise_xor.Tensor")
def _bits(args: Args, x: Sequence[Interval]) -> Interval:
    """The result fits in the bits of the wider operand."""
    if not (x[0].integral and x[1].integral):
        return EVERYTHING
    largest = max(abs(x[0]).high, abs(x[1]).high)
    if largest == inf:
        return EVERYTHING
    power = 1 << int(largest).bit_length()
    return Interval(0 if min(x[0].low, x[1].low) >= 0 else -power, power - 1)


@rule("aten.bitwise_not")
def _inverse(args: Args, x: Sequence[Interval]) -> Interval:
    (first, *_) = _tensors(args)
    return Interval(0, 1) if str(first.dtype) == "b8" else -x[0] - Interval(1, 1)
