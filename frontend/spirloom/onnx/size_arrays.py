"""Arrays that are known at import except for symbolic sizes: shapes, and values computed from
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spec_model import interval
from spec_model.interval import Interval
from spec_model.symbolic import Size, known, maximum, minimum, settle, size_of, sym
from spec_model.symbolic.guards import OPPOSITE
from spirloom.builder import Builder, Lifter, Value
from spirloom.errors import Unsupported
from spirloom.ir import Array, Tensor
from spirloom.number_expr import Number, SymFloat, number_of
from spirloom.sizes import SymInt
from spirloom.value_bounds import exact_interval, narrow_type, narrowed


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
        if self.relation in (">", ">=", "<", "<="):
            reached = value if self.relation[0] == ">" else -value
            return minimum(maximum(reached + len(self.relation) - 1, 0), 1)
        differs = minimum(maximum(value, -value), 1)
        return 1 - differs if self.relation == "==" else differs


def compare(a: int, relation: str, b: int) -> bool | Condition:
    """The outcome of a comparison."""
    difference = size_of(a) - size_of(b)
    found = known(difference, relation)
    return Condition(difference, relation) if found is None else found


# An element: a SymInt is an integer, also in an array of floats; in an array of bools, 1 is true.
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
    return isinstance(element, SymInt | SymFloat | Condition)


def value_of(element: Element) -> Number:
    """An element as a number: 1 for a condition that holds."""
    return element.indicator if isinstance(element, Condition) else element


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
    if isinstance(element, SymFloat | SymInt):
        return number_of(element).bounds()
    return interval.of_array(np.asarray(element))


def _lifted(build: Builder, value: SizeArray, name: str) -> Tensor:
    """The tensor of an array. Raises Unsupported if a supported type does not hold an element."""
    own = narrow_type(value.dtype)
    if value.dtype.kind in "iu" and not value.bounds().within(exact_interval(value.dtype)):
        raise Unsupported(f"the values of {value} are {value.bounds()}, which {own} does not hold")
    shape = value.shape if value.size == 1 else (1,)
    parts = [_element(build, element, value.dtype, shape) for element in value.flat()]
    whole = parts[0] if value.size == 1 else build.view(build.cat(parts, 0), value.shape)
    whole.name = f"{name}.sizes"
    return whole


def _element(
    build: Builder, element: Element, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> Tensor:
    """A tensor of one element."""
    number = value_of(element)
    if not isinstance(number, SymInt | SymFloat):
        return build.constant(narrowed(np.full(shape, number, dtype)))
    return build.number(number, narrow_type(dtype), shape)


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
    if isinstance(element, SymFloat):
        raise Unsupported(f"its condition {element} has no formula of the sizes")
    return bool(element)
