"""Interval arithmetic for value bounds: the bounds of operators' results, by names and traits of
specs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, prod

from spec_model.traits import Trait
from spirloom import interval
from spirloom.interval import EVERYTHING, Interval, hull
from spirloom.ir import DType, Tensor
from spirloom.ops import OpLibrary
from spirloom.sizes import upper

Args = Mapping[str, object]
# Computes the bounds of the outputs from the arguments and the tensors' bounds, in order.
Rule = Callable[[Args, Sequence[Interval]], Sequence[Interval]]
RULES: dict[str, Rule] = {}


def rule(*ops: str) -> Callable[[Rule], Rule]:
    """Registers the decorated function as the rule of operators."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, function))
        return function

    return register


def bounds_of(
    library: OpLibrary, op: str, args: Args, of: Callable[[object], Interval], count: int
) -> Sequence[Interval]:
    """The bounds of the outputs; EVERYTHING for an operator without a rule or a trait."""
    tensors = _tensors(args)
    if op in RULES:
        found = list(RULES[op](args, [of(tensor) for tensor in tensors]))
    elif library.has_trait(op, Trait.SELECTS, args):
        # Bounds of constants require a pass over their elements.
        values = [of(tensor) for tensor in library.value_tensors(op, args)]
        found = [hull(values) if values else EVERYTHING]
    else:
        found = [EVERYTHING]
    dtypes = library.output_dtypes(op) if library.has(op) else []
    indices = library.has_trait(op, Trait.RETURNS_INDICES)
    bounds = [found[min(i, len(found) - 1)] for i in range(count)]
    for i, dtype in enumerate(dtypes[:count]):
        if dtype is DType.B8:
            bounds[i] = Interval(0, 1)
        elif dtype is DType.I32 and indices:
            bounds[i] = interval.indices_of(upper(prod(tensors[0].shape)))
    return bounds


def _tensors(args: Args) -> list[Tensor]:
    items = [i for v in args.values() for i in (v if isinstance(v, tuple) else (v,))]
    return [item for item in items if isinstance(item, Tensor)]


def _scalar(args: Args, name: str, default: float) -> float:
    value = args.get(name, default)
    return value if isinstance(value, int | float) else default


@rule("aten.one_hot")
def _zero_or_one(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [Interval(0, 1)]


@rule("aten.tril", "aten.triu")
def _triangle(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0] | Interval(0, 0)]


@rule("aten.constant_pad_nd")
def _padded(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    value = _scalar(args, "value", 0)
    return [x[0] | Interval(value, value, float(value).is_integer())]


@rule("aten.masked_fill.Scalar")
def _masked(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    value = _scalar(args, "value", 0)
    return [x[0] | Interval(value, value, float(value).is_integer())]


@rule("aten._to_copy")
def _cast(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    kind = args.get("dtype")
    if kind == "b8":
        return [Interval(0, 1)]
    return [x[0] if kind in ("f32", "f16") else interval.cast_to_integer(x[0])]


@rule("aten.add.Tensor")
def _sum(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0] + _scaled(x[1], _scalar(args, "alpha", 1))]


@rule("aten.sub.Tensor")
def _difference(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0] - _scaled(x[1], _scalar(args, "alpha", 1))]


def _scaled(x: Interval, by: float) -> Interval:
    return x * Interval(by, by, float(by).is_integer())


@rule("aten.mul.Tensor")
def _product(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0] * x[1]]


@rule("aten.square")
def _square(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [abs(x[0]) * abs(x[0])]


@rule("aten.floor_divide", "aten.div.Tensor_mode")
def _quotient(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    """Either rounding mode: floor is at most one below truncation."""
    found = interval.quotient(x[0], x[1])
    return [found if found == EVERYTHING or found.low >= 0 else found - Interval(0, 1)]


@rule("aten.remainder.Tensor")
def _remainder(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.remainder(x[0], x[1], like_dividend=False)]


@rule("aten.fmod.Tensor")
def _rest(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.remainder(x[0], x[1], like_dividend=True)]


@rule("aten.pow.Tensor_Tensor")
def _power(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.power(x[0], x[1])]


@rule("aten.neg")
def _negative(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [-x[0]]


@rule("aten.abs")
def _absolute(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [abs(x[0])]


@rule("aten.sign")
def _sign(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.sign(x[0])]


@rule("aten.relu")
def _relu(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0].clamped(low=0)]


@rule("aten.clamp", "aten.hardtanh")
def _clamp(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    low = _scalar(args, "min", _scalar(args, "min_val", -inf))
    high = _scalar(args, "max", _scalar(args, "max_val", inf))
    return [x[0].clamped(low, high)]


@rule("aten.maximum")
def _maximum(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.maximum(*x)]


@rule("aten.minimum")
def _minimum(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.minimum(*x)]


@rule("aten.floor")
def _floor(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [x[0].floored()]


@rule("aten.ceil")
def _ceil(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [-(-x[0]).floored()]


@rule("aten.round", "aten.trunc")
def _round(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [interval.rounded(x[0])]


@rule("aten.sigmoid", "aten._softmax", "aten._safe_softmax", "aten.hardsigmoid")
def _unit(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [Interval(0, 1, integral=False)]


@rule("aten.sum.dim_IntList", "aten.nansum", "aten.count_nonzero.dim_IntList")
def _total(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    (first, *_) = _tensors(args)
    return [x[0] * Interval(0, upper(prod(first.shape)))]


@rule("aten.count_nonzero.dim_IntList")
def _count(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    (first, *_) = _tensors(args)
    return [Interval(0, upper(prod(first.shape)))]


@rule("aten.cumsum")
def _running_total(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    (first, *_) = _tensors(args)
    dim = args.get("dim")
    size = first.shape[dim] if isinstance(dim, int) and first.shape else 1
    return [x[0] * Interval(0, upper(size))]


@rule("aten.matmul", "aten.mm", "aten.bmm")
def _matrix_product(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    (first, *_) = _tensors(args)
    return [x[0] * x[1] * Interval(0, upper(first.shape[-1]))]


@rule("aten.bitwise_and.Tensor", "aten.bitwise_or.Tensor", "aten.bitwise_xor.Tensor")
def _bits(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    """The result fits in the bits of the wider operand."""
    if not (x[0].integral and x[1].integral):
        return [EVERYTHING]
    largest = max(abs(x[0]).high, abs(x[1]).high)
    if largest == inf:
        return [EVERYTHING]
    power = 1 << int(largest).bit_length()
    return [Interval(0 if min(x[0].low, x[1].low) >= 0 else -power, power - 1)]


@rule("aten.bitwise_not")
def _inverse(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    (first, *_) = _tensors(args)
    return [Interval(0, 1) if str(first.dtype) == "b8" else -x[0] - Interval(1, 1)]
