"""The arguments of a call: arrays for the inputs, and ints for the integer inputs, in the order of
the model's arguments."""

from __future__ import annotations

from collections.abc import Sequence

from spirloom.runtime.arrays import integer
from spirloom.runtime.errors import InvalidArgument
from spirloom.runtime.tensors import IntInput, TensorInfo

Argument = TensorInfo | IntInput


def arguments_of(
    inputs: Sequence[TensorInfo], free: Sequence[TensorInfo], ints: Sequence[IntInput]
) -> Sequence[Argument]:
    """The inputs that are `free`, without bound arrays, and integer inputs at their positions."""
    if not ints:
        return free
    found: list[Argument] = []
    for index in range(len(inputs) + 1):
        found += [info for info in ints if info.position == index]
        found += [info for info in inputs[index : index + 1] if info in free]
    return found


def split(
    arguments: Sequence[Argument], values: Sequence[object]
) -> tuple[list[object], tuple[int, ...]]:
    """The values of the inputs, and those of the integer inputs. Raises WrongType for a value of an
    integer input that is no integer, InvalidArgument for one of more than 64 bits.
    """
    others: list[object] = []
    ints: list[int] = []
    for info, value in zip(arguments, values, strict=True):
        if isinstance(info, TensorInfo):
            others.append(value)
            continue
        ints.append(integer(value, f"Integer input '{info.name}'"))
        if not -(1 << 63) <= ints[-1] < 1 << 63:
            raise InvalidArgument(f"Integer input '{info.name}' ({ints[-1]}) exceeds 64 bits.")
    return others, tuple(ints)
