"""Arrays that are known at import except for symbolic sizes: shapes, and values computed from
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from spec_model.symbolic import Size, known, maximum, minimum, settle, size_of, sym
from spec_model.symbolic.bounds import range_of
from spec_model.symbolic.expr import at_maximum
from spec_model.symbolic.guards import OPPOSITE
from spirloom import interval
from spirloom.builder import Builder, Lifter, Value
from spirloom.errors import Unsupported
from spirloom.interval import Interval
from spirloom.ir import Array, Tensor
from spirloom.size_numbers import SizeNumber, size_number
from spirloom.sizes import SymInt, is_symbolic
from spirloom.value_bounds import narrowed


@dataclass(frozen=True, slots=True)
class Condition:
    """Whether `difference` `relation` 0, which differs between sizes. `compare` makes it."""

    difference: Size
    relation: str

    def negated(self) -> Condition:
        """The opposite."""
        return Condition(self.difference, OPPOSITE[self.relation])

    @property
    def indicator(self) -> int:
        """1 at sizes for which it holds, 0 at others."""
        value = sym(self.difference)
        match self.relation:
            case ">" | ">=":
                return minimum(maximum(value + (self.relation == ">="), 0), 1)
            case "<" | "<=":
                return minimum(maximum((self.relation == "<=") - value, 0), 1)
        differs = minimum(maximum(value, -value), 1)
        return 1 - differs if self.relation == "==" else differs


def compare(a: int, relation: str, b: int) -> bool | Condition:
    """The outcome of a comparison."""
    difference = size_of(a) - size_of(b)
    found = known(difference, relation)
    return Condition(difference, relation) if found is None else found


# An element: a SymInt is an integer, also in an array of floats, where 1 is true in an array of
# bools. A SizeNumber has other values.
Number = int | float | SizeNumber
Element = Number | Condition


@dataclass(frozen=True, slots=True, eq=False)
class SizeArray:
    """An array of which at least one element depends on symbolic sizes.

    elements  of the type Element, in an array of objects
    dtype     the element type in the model
    """

    elements: Array
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which is known."""
        return self.elements.shape

    @property
    def ndim(self) -> int:
        """The rank."""
        return self.elements.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.elements.size

    def flat(self) -> list[Element]:
        """The elements in row-major order."""
        return list(self.elements.reshape(-1))

    def bounds(self) -> Interval:
        """The range of the values at all sizes."""
        return interval.hull(map(_bounds, self.flat()))

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.flat()))}]"


@dataclass(frozen=True, slots=True, eq=False)
class LeadingPart:
    """A constant of symbolic shape: the first elements of each dimension of an array of the shape
    `upper_shape(shape)`, in the element type of the model.
    """

    array: Array
    shape: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type in the model."""
        return self.array.dtype

    @property
    def ndim(self) -> int:
        """The rank."""
        return self.array.ndim


# A value of a model without sequences.
Known = Value | SizeArray | LeadingPart


def is_size_dependent(element: object) -> bool:
    """Whether an element depends on sizes."""
    return isinstance(element, SymInt | SizeNumber | Condition)


def value_of(element: Element) -> Number:
    """An element as a number: 1 for a condition that holds."""
    return element.indicator if isinstance(element, Condition) else element


def as_number(element: Element) -> Number:
    """An element as a number, or as one of a table. Raises Unsupported."""
    element = value_of(element)
    return size_number(element) if isinstance(element, SymInt) else element


def size_array(
    elements: Iterable[Element], shape: Sequence[int], dtype: np.dtype[Any]
) -> Array | SizeArray:
    """The array of these elements; a plain one if none depends on sizes."""
    flat = list(elements)
    if not any(map(is_size_dependent, flat)):
        return np.array(flat, dtype).reshape(tuple(shape))
    objects = np.empty(len(flat), object)
    for index, element in enumerate(flat):
        objects[index] = element
    return SizeArray(objects.reshape(tuple(shape)), np.dtype(dtype))


def of_shape(shape: Sequence[int]) -> Array | SizeArray:
    """The value of a Shape node."""
    return size_array(shape, [len(shape)], np.dtype(np.int64))


def elements_of(value: Array | SizeArray) -> list[Element]:
    """The elements in row-major order."""
    return value.flat() if isinstance(value, SizeArray) else list(value.reshape(-1).tolist())


def _bounds(element: Element) -> Interval:
    if isinstance(element, Condition):
        return Interval(0, 1)
    if isinstance(element, SizeNumber):
        return interval.of_array(np.asarray(element.values))
    if isinstance(element, SymInt):
        known = range_of(element.size)
        return Interval(known.low, known.high)
    return interval.of_array(np.asarray(element))


def _lifted(build: Builder, value: SizeArray, name: str) -> Tensor:
    """The tensor of an array: elements of tables of the values at all sizes. Raises Unsupported if
    there are too many.
    """
    numbers = [as_number(e) for e in value.flat()]
    indices = {size_of(e.index) for e in numbers if isinstance(e, SizeNumber)}
    if len(indices) == 1:
        return _looked_up(build, numbers, value.shape, value.dtype, name)
    parts = [_looked_up(build, [number], (1,), value.dtype, name) for number in numbers]
    return build.view(build.cat(parts, 0), value.shape)


def _looked_up(
    build: Builder,
    numbers: Sequence[Number],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    name: str,
) -> Tensor:
    """The tensor of numbers that depend on at most one index."""
    found = next((n for n in numbers if isinstance(n, SizeNumber)), None)
    count = 1 if found is None else len(found.values)
    build.budget.check([count, prod(shape)], dtype.itemsize)
    table = np.empty((count, len(numbers)), dtype)
    for column, number in enumerate(numbers):
        table[:, column] = number.values if isinstance(number, SizeNumber) else number
    tensor = build.constant(narrowed(table.reshape(count, *shape)))
    tensor.name = f"{name}.sizes"
    index = 0 if found is None else found.index
    if not is_symbolic((index,)):
        return build.view(build.slice(tensor, 0, index, index + 1), shape)
    return build.emit("aten.select.int", x=tensor, dim=0, index=index)


def number(index: int, values: Array) -> Element:
    """The element `values[index]`: a formula if it is an integer (a · index + b) // d at all sizes,
    with a small d.
    """
    items: tuple[int | float, ...] = tuple(values.tolist())
    if not isinstance(index, SymInt) or all(item == items[0] for item in items):
        return items[0]
    found = _formula(index, values) if values.dtype.kind in "iu" else None
    return SizeNumber(index, items) if found is None else found


def _formula(index: int, values: Array) -> int | None:
    table = values.astype(np.int64)
    at = np.arange(len(table), dtype=np.int64)
    slope = (int(table[-1]) - int(table[0])) / (len(table) - 1)
    for divisor in _DIVISORS:
        if divisor > len(table):
            break
        for factor in {int(np.floor(slope * divisor)), int(np.ceil(slope * divisor))}:
            offsets = divisor * table - factor * at
            low, high = int(offsets.max()), int(offsets.min()) + divisor - 1
            if low <= high:
                found: int = (factor * index + low) // divisor
                return found
    return None


_DIVISORS = (*range(1, 65), 128, 256, 512, 1024)


class KnownLifter(Lifter):
    """Converts values to tensors, each once."""

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[int, tuple[SizeArray | LeadingPart, Tensor]] = {}

    def lift(self, builder: Builder, value: Known, name: str) -> Tensor:
        """The tensor of a value."""
        if not isinstance(value, SizeArray | LeadingPart):
            return super().lift(builder, value, name)
        if id(value) not in self._tables:
            made = (
                _lifted(builder, value, name)
                if isinstance(value, SizeArray)
                else builder.leading_part(value.array, value.shape)
            )
            self._tables[id(value)] = (value, made)
        return self._tables[id(value)][1]


def truth(element: Element) -> bool:
    """The value of a condition that selects a part of the model. If it differs between sizes, that
    of the maximum sizes, which becomes a guard. Raises Unsupported.
    """
    if isinstance(element, Condition):
        return settle(element.difference, element.relation)
    if isinstance(element, SymInt):
        return settle(element.size, "!=")
    if not isinstance(element, SizeNumber):
        return bool(element)
    values = [bool(value) for value in element.values]
    index = element.index.size
    last = values[at_maximum(index)]
    changes = [i for i in range(1, len(values)) if values[i] != values[i - 1]]
    if not changes:
        return last
    if len(changes) > 1:
        raise Unsupported(
            f"its condition changes at {len(changes)} sizes of {index}, of which the first is "
            f"{changes[0]}; set a minimum and maximum between two of them with --dim"
        )
    return settle(index - changes[0], ">=") == values[-1]
