"""Interval arithmetic for value bounds: the bounds of operators' results, by names of specs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, prod

from spirloom import interval
from spirloom.interval import EVERYTHING, Interval, hull
from spirloom.ir import Tensor

Args = Mapping[str, object]
# Computes the bounds of the outputs from the arguments and the tensors' bounds, in order.
Rule = Callable[[Args, Sequence[Interval]], Sequence[Interval]]
RULES: dict[str, Rule] = {}

# Operators whose results are values of their tensors, up to the sign.
VALUE_SELECTING = frozenset({
    "aten.abs", "aten.amax", "aten.amin", "aten.as_strided", "aten.cat", "aten.channel_shuffle",
    "aten.clamp.Tensor", "aten.diagonal", "aten.embedding", "aten.expand",
    "aten.flatten.using_ints", "aten.flip", "aten.gather", "spirloom.index_nd", "aten.index_copy",
    "spirloom.index_put", "aten.index_select", "aten.max.dim", "aten.maximum", "aten.min.dim",
    "aten.minimum", "aten.neg", "aten.permute", "aten.pixel_shuffle", "aten.pixel_unshuffle",
    "aten.repeat", "aten.repeat_interleave.self_int", "aten.roll", "aten.select.int",
    "aten.select_scatter", "aten.slice.Tensor", "aten.slice_scatter", "aten.sort",
    "aten.squeeze.dims", "aten.topk", "aten.tril", "aten.triu", "aten.unfold", "aten.unsqueeze",
    "aten.view", "aten.where.self", "spirloom.gather_nd",
})  # fmt: skip
_POOLS = [f"aten.{name}" for rank in (1, 2, 3)
          for name in (f"adaptive_max_pool{rank}d", f"max_pool{rank}d_with_indices")]  # fmt: skip
_WITH_INDICES = frozenset({"aten.max.dim", "aten.min.dim", "aten.sort", "aten.topk", "aten.cummax",
                     "aten.cummin", *_POOLS})  # fmt: skip
_VALUES_OF_FIRST = ("aten.embedding", "aten.gather", "spirloom.index_nd", "aten.index_select",
          "spirloom.gather_nd")  # fmt: skip
_BOOLEAN_RESULTS = frozenset(
    f"aten.{name}" for name in (
        "eq.Tensor", "ne.Tensor", "lt.Tensor", "le.Tensor", "gt.Tensor", "ge.Tensor", "logical_and",
        "logical_or", "logical_xor", "logical_not", "any.dims", "all.dims", "isnan", "isinf",
        "isfinite", "isneginf", "isposinf", "signbit", "one_hot",
    )
)  # fmt: skip


def rule(*ops: str) -> Callable[[Rule], Rule]:
    """Registers the decorated function as the rule of operators."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, function))
        return function

    return register


def bounds_of(
    op: str, args: Args, of: Callable[[object], Interval], count: int
) -> Sequence[Interval]:
    """The bounds of the outputs; EVERYTHING for an operator without a rule."""
    tensors = _tensors(args)
    if op in _BOOLEAN_RESULTS:
        return [Interval(0, 1)] * count
    if op in ("aten.argmax", "aten.argmin"):
        return [interval.indices_of(prod(tensors[0].shape))] * count
    # Bounds of constants require a pass over their elements.
    needed = op in RULES or op in VALUE_SELECTING
    bounds = [of(tensor) for tensor in tensors] if needed else []
    if op in RULES:
        found = list(RULES[op](args, bounds))
    elif op in VALUE_SELECTING and bounds:
        found = [bounds[0] if op in _VALUES_OF_FIRST else hull(bounds)]
    else:
        found = [EVERYTHING]
    if op in _WITH_INDICES and count > 1:
        return [found[0], interval.indices_of(prod(tensors[0].shape))]
    return [found[min(i, len(found) - 1)] for i in range(count)]


def _tensors(args: Args) -> list[Tensor]:
    items = [i for v in args.values() for i in (v if isinstance(v, tuple) else (v,))]
    return [item for item in items if isinstance(item, Tensor)]


def _scalar(args: Args, name: str, default: float) -> float:
    value = args.get(name, default)
    return value if isinstance(value, int | float) else default


@rule("aten.where.self")
def _where(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [hull(x[1:])]


@rule("spirloom.index_put", "aten.index_copy", "aten.select_scatter", "aten.slice_scatter")
def _scatter(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    return [EVERYTHING if args.get("accumulate") else hull(x)]


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
    return [x[0] * Interval(0, prod(first.shape))]


@rule("aten.count_nonzero.dim_IntList")
def _count(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    (first, *_) = _tensors(args)
    return [Interval(0, prod(first.shape))]


@rule("aten.cumsum")
def _running_total(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    (first, *_) = _tensors(args)
    dim = args.get("dim")
    size = first.shape[dim] if isinstance(dim, int) and first.shape else 1
    return [x[0] * Interval(0, size)]


@rule("aten.matmul", "aten.mm", "aten.bmm")
def _matrix_product(args: Args, x: Sequence[Interval]) -> Sequence[Interval]:
    (first, *_) = _tensors(args)
    return [x[0] * x[1] * Interval(0, first.shape[-1])]


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
