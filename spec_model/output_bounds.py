"""The bounds of a call's results: by its operator's formula, its traits, or its dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, prod
from typing import cast

from spec_model.expr.evaluation import evaluate
from spec_model.expr.intervals import interval_of
from spec_model.expr.types import Environment, Expr, TensorType, Value
from spec_model.interval import EVERYTHING, Interval, hull, indices_of, stored
from spec_model.op import Op
from spec_model.spec import Let
from spec_model.symbolic import Undecided, strict
from spec_model.traits import Trait
from spec_model.vocabulary import DType


def bounded_args(op: Op, args: Mapping[str, object]) -> frozenset[str]:
    """The arguments of a call whose bounds `output_bounds` reads."""
    names = frozenset[str]().union(*(e.names for e in op.bounds if e is not None))
    if None in op.bounds and op.has_trait(Trait.SELECTS, args):
        names |= {arg.name for arg in op.args if arg.has_op_dtype}
    return names


def output_bounds(
    op: Op, args: Mapping[str, object], numbers: Mapping[str, Interval]
) -> list[Interval]:
    """The bounds of a valid call's outputs; EVERYTHING where nothing is known.

    args     as those of Op.infer; the types of tensors contain the bounds of their values
    numbers  the bounds of numbers that depend on symbolic sizes
    """
    found = []
    for output, formula in zip(op.outputs, op.bounds, strict=True):
        dtype = output.fixed_dtype
        if formula is not None:
            found.append(_computed(op, formula, dtype, args, numbers))
        elif dtype is DType.B8:
            found.append(Interval(0, 1))
        elif dtype is DType.I32 and op.has_trait(Trait.RETURNS_INDICES, args):
            found.append(_indices(op, args))
        elif dtype is None and op.has_trait(Trait.SELECTS, args):
            known = [t.bounds for t in _tensors(op, args, own=True)]
            found.append(hull(known) if known else EVERYTHING)
        else:
            found.append(EVERYTHING)
    return found


def _computed(
    op: Op,
    formula: Expr,
    dtype: DType | None,
    args: Mapping[str, object],
    numbers: Mapping[str, Interval],
) -> Interval:
    """The bounds by a formula, rounded outward if the result is (of `dtype`, or else the operator's
    dtype); EVERYTHING if it has no value at all sizes, or no finite one."""
    try:
        with strict():
            values = _values(op, formula, args, numbers)
            found = cast(Interval, evaluate(formula, values))
    except Undecided:
        return EVERYTHING
    if not (found.low < inf and found.high > -inf):  # also if one is not a number
        return EVERYTHING
    stated = args.get("dtype", dtype)
    own = [DType(str(stated))] if stated else [x.dtype for x in _tensors(op, args, own=True)]
    if found.integral and not any(each.is_float for each in own):
        return found
    dtypes = [*own, *(x.dtype for x in _tensors(op, args, own=False))]
    return stored(found, DType.F16 if DType.F16 in dtypes else DType.F32)


def _values(
    op: Op, formula: Expr, args: Mapping[str, object], numbers: Mapping[str, Interval]
) -> Environment:
    """The names of the formula. Those that follow from `numbers` have no value."""
    values: dict[str, Value] = {**op.arguments(args), **numbers}
    if numbers:
        return values
    if any(output.name in formula.names for output in op.outputs):
        return op.values(args)
    needed = set(formula.names)
    lets = [step for step in op.steps if isinstance(step, Let)]
    for let in reversed(lets):
        if let.name in needed:
            needed |= let.value.names
    for let in lets:
        if let.name in needed:
            values[let.name] = evaluate(let.value, values)
    return values


def _tensors(op: Op, args: Mapping[str, object], own: bool) -> list[TensorType]:
    """The tensors of a call. `own`: only those that have the operator's dtype."""
    found: list[TensorType] = []
    for arg in op.args:
        value = args.get(arg.name)
        if arg.has_op_dtype or (arg.type.is_tensor and not own):
            items = value if isinstance(value, tuple) else (value,)
            found += [item for item in items if isinstance(item, TensorType)]
    return found


def _indices(op: Op, args: Mapping[str, object]) -> Interval:
    """The indices of the first tensor's elements along `dim`, or of all."""
    x, dim = _tensors(op, args, own=False)[0], args.get("dim")
    if isinstance(dim, tuple) and len(dim) == 1:
        (dim,) = dim
    count = x.shape[dim] if isinstance(dim, int) and x.shape else prod(x.shape)
    return indices_of(int(interval_of(count).high))
