"""Binds calls of Vulkan delegates to operators, by the names that specs state and by rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import copysign, inf, isnan
from typing import Any

import numpy as np

from codegen.spec import DTypeOf, Exactly, ForeignName, ShapeOf
from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.ops import OpLibrary, own_library
from spirloom.pte.kernel_calls import by_target
from spirloom.torch.context import CallContext
from spirloom.torch.rules import RULES as TORCH_RULES
from spirloom.torch.rules.registry import ImportRule
from spirloom.torch.values import Item, is_value
from spirloom.value_bounds import narrow_type

Result = tuple[tuple[int, ...] | None, np.dtype[Any] | None]
_MAX = float(np.finfo(np.float32).max)


class Served:
    """An operator, and its arguments by their names in its spec: a call, or a part of one."""

    def __init__(self, op: str, foreign: ForeignName, args: Mapping[str, Item]) -> None:
        self.op = op
        self.args = args
        self.foreign = foreign


@cache
def changed_places(name: str) -> tuple[int, ...]:
    """The places of what calls of this name change, in order."""
    entries = (foreign for _, foreign in own_library().foreign(name))
    return tuple(sorted({place for each in entries if (place := changed_place(each)) is not None}))


def changed_place(foreign: ForeignName) -> int | None:
    """The place of the argument that the call changes, if it changes any."""
    if isinstance(foreign.result, int):
        return None
    return foreign.places.index(foreign.result)


def served(library: OpLibrary, name: str, given: Sequence[Item]) -> list[tuple[str, ForeignName]]:
    """What computes a call of this name: its parts, in order; nothing if no spec serves it.

    Raises Unsupported for arguments that none of them takes.
    """
    entries = library.foreign(name)
    if not entries:
        return []
    found = []
    for part in range(entries[0][1].parts):
        fits = (entry for entry in entries if entry[1].part == part and _fits(entry[1], given))
        if (first := next(fits, None)) is None:
            raise Unsupported("there is no operator for it with these arguments")
        found.append(first)
    return found


def bound(
    library: OpLibrary,
    part: tuple[str, ForeignName],
    given: Sequence[Item],
    results: Sequence[Result],
) -> Served:
    """A part of a call with its arguments. Raises Unsupported.

    `results` are shape and type of each thing that the call gives, as far as they are known.
    """
    op, foreign = part
    return Served(op, foreign, _bound(library, op, foreign, given, results))


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
    library: OpLibrary,
    op: str,
    foreign: ForeignName,
    given: Sequence[Item],
    results: Sequence[Result],
) -> dict[str, Item]:
    made = dict(zip(library.output_names(op), results, strict=False))
    found: dict[str, Item] = {}
    for place, value in zip(foreign.places, given, strict=False):
        if isinstance(place, str):
            found[place] = _finite(value)
        elif isinstance(place, tuple) and value is not None:
            if not isinstance(value, tuple) or len(value) != len(place):
                raise Unsupported(f"it is given no list of {len(place)} numbers")
            found.update(zip(place, value, strict=True))
    unknown: Result = (None, None)
    for name, setting in foreign.settings:
        match setting:
            case ShapeOf(tensor, first):
                shape = found[tensor].shape if tensor in found else made.get(tensor, unknown)[0]
                if shape is None:
                    raise Unsupported("the program does not tell the shape that it gives")
                found[name] = tuple(shape)[first:]
            case DTypeOf(tensor):
                dtype = found[tensor].dtype if tensor in found else made.get(tensor, unknown)[1]
                found[name] = str(narrow_type(dtype) if isinstance(dtype, np.dtype) else dtype)
            case _:
                found[name] = setting
    own = {arg.name for arg in library.args(op) if arg.type.is_tensor and arg.dtype is not None}
    return {name: _as_list(item) if name in own else item for name, item in found.items()}


def _as_list(value: Item) -> Item:
    """A number in the place of a tensor that has its own type: a list of one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return np.asarray([value]) if is_number else value


def _finite(value: Item) -> Item:
    """Numbers beyond what a float holds are its infinities: no bound is a great double."""
    if isinstance(value, float) and abs(value) > _MAX and not isnan(value):
        return copysign(inf, value)
    return value


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


def shuffled_values(ctx: CallContext) -> Item:
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
    "et_vk.q8ta_pixel_shuffle": shuffled_values,
}
