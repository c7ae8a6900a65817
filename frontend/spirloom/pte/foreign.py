"""Binds calls of delegates to operators by what the specs say of ExecuTorch's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import copysign, inf, isnan
from typing import Any

import numpy as np

from codegen.spec import Arg, DTypeOf, Exactly, ForeignName, ShapeOf
from spirloom.bounds.wide import narrow_type
from spirloom.errors import Unsupported
from spirloom.ops import OpLibrary
from spirloom.torch.values import Item, is_value

_MOST = float(np.finfo(np.float32).max)


class Served:
    """An operator, and its arguments by their names in its spec."""

    def __init__(self, op: str, args: Mapping[str, Item]) -> None:
        self.op = op
        self.args = args


def served(
    library: OpLibrary,
    name: str,
    given: Sequence[Item],
    result: tuple[tuple[int, ...] | None, np.dtype[Any] | None],
) -> Served | None:
    """What computes a call of this name; None if no spec serves it. Raises Unsupported.

    `result` is shape and type of the first thing that it gives.
    """
    entries = library.foreign(name)
    for op, foreign in entries:
        if _fits(foreign, given):
            return Served(op, _bound(library.args(op), foreign, given, result))
    if entries:
        raise Unsupported("there is no operator for it with these arguments")
    return None


def _fits(foreign: ForeignName, given: Sequence[Item]) -> bool:
    if foreign.rank is not None and _rank(given) != foreign.rank:
        return False
    for place in range(max(len(given), len(foreign.places))):
        value = given[place] if place < len(given) else None
        if place >= len(foreign.places):
            if value is not None:
                return False
        elif isinstance(wanted := foreign.places[place], Exactly) and not _equal(value, wanted):
            return False
    return True


def _rank(given: Sequence[Item]) -> int | None:
    return next((len(item.shape) for item in given if is_value(item)), None)


def _equal(value: Item, wanted: Exactly) -> bool:
    """Whether a value is the one that a spec asks for; ints and floats are numbers."""
    if is_value(value):
        return False
    if isinstance(value, bool) or isinstance(wanted.value, bool):
        return value is wanted.value
    return bool(value == wanted.value)


def _bound(
    args: Sequence[Arg],
    foreign: ForeignName,
    given: Sequence[Item],
    result: tuple[tuple[int, ...] | None, np.dtype[Any] | None],
) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for place, value in zip(foreign.places, given, strict=False):
        if isinstance(place, str):
            found[place] = _finite(value)
        elif isinstance(place, tuple) and value is not None:
            if not isinstance(value, tuple) or len(value) != len(place):
                raise Unsupported(f"it is given no list of {len(place)} numbers")
            found.update(zip(place, value, strict=True))
    inputs = {arg.name for arg in args}
    for name, setting in foreign.settings:
        match setting:
            case ShapeOf(tensor, first):
                shape = found[tensor].shape if tensor in inputs else result[0]
                if shape is None:
                    raise Unsupported("the program does not tell the shape that it gives")
                found[name] = tuple(shape)[first:]
            case DTypeOf(tensor):
                dtype = found[tensor].dtype if tensor in inputs else result[1]
                found[name] = str(narrow_type(dtype) if isinstance(dtype, np.dtype) else dtype)
            case _:
                found[name] = setting
    return found


def _finite(value: Item) -> Item:
    """Numbers beyond what a float holds are its infinities: no bound is a great double."""
    if isinstance(value, float) and abs(value) > _MOST and not isnan(value):
        return copysign(inf, value)
    return value
