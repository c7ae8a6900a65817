"""The bounds of values that the calls of a graph compute, as their operators' specs state them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from spec_model.expr.types import TensorType
from spec_model.interval import EVERYTHING, Interval
from spec_model.output_bounds import bounded_args, output_bounds
from spirloom.ir import Tensor
from spirloom.number_expr import SymFloat
from spirloom.op_library import OpLibrary, argument_type


def bounds_of(
    library: OpLibrary,
    op: str,
    args: Mapping[str, object],
    of: Callable[[Tensor], Interval],
    count: int,
) -> Sequence[Interval]:
    """The bounds of the `count` outputs of a call. `of`: the bounds of a tensor's values, which are
    computed only if they are needed: for constants, from all elements."""
    if not library.has(op):
        return [EVERYTHING] * count
    spec = library.spec(op)
    numbers = {n: v.expr.bounds() for n, v in args.items() if isinstance(v, SymFloat)}
    plain = {n: v.value if isinstance(v, SymFloat) else v for n, v in args.items()}
    types = {name: argument_type(value) for name, value in plain.items()}
    for name in bounded_args(spec, types):
        if name in args:
            types[name] = _with_bounds(args[name], types[name], of)
    return output_bounds(spec, types, numbers)[:count]


def _with_bounds(value: object, typed: object, of: Callable[[Tensor], Interval]) -> object:
    if isinstance(value, Tensor) and isinstance(typed, TensorType):
        return replace(typed, bounds=of(value))
    if isinstance(value, tuple | list) and isinstance(typed, tuple):
        return tuple(_with_bounds(v, t, of) for v, t in zip(value, typed, strict=True))
    return typed
