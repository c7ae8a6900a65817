"""Which argument goes where: by position, by name, and arrays that are to be filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from spirloom.runtime.arrays import Array, is_torch
from spirloom.runtime.errors import InvalidArgument, WrongType
from spirloom.runtime.tensors import TensorInfo

Inputs = Sequence[Any] | Mapping[str, Any]


class Named(Protocol):
    """An input or output of a model."""

    @property
    def name(self) -> str:
        """What callers know it by."""


def in_order(
    infos: Sequence[Named],
    given: Sequence[Any],
    named: Mapping[str, Any],
    kind: str = "input",
) -> Sequence[Any]:
    """One value for each tensor: those by position, then those by name.

    InvalidArgument for too many, for a name that there is not or that is given twice, and listing
    those that are missing. `kind` is the word for one.
    """
    if not named and len(given) == len(infos):
        return given
    names = [info.name for info in infos]
    unknown = [name for name in named if name not in names]
    twice = [name for name in names[: len(given)] if name in named]
    missing = [name for name in names[len(given) :] if name not in named]
    listed = f"the model takes {len(names)} ({', '.join(map(str, infos))})"
    if kind == "output":
        listed = listed.replace("takes", "gives")
    if len(given) > len(names):
        raise InvalidArgument(f"{len(given)} {kind}s are given; {listed}.")
    if unknown:
        raise InvalidArgument(f"There is no {kind} '{unknown[0]}'; {listed}.")
    if twice:
        raise InvalidArgument(f"{kind.capitalize()} '{twice[0]}' is given by position and by name.")
    if missing:
        raise InvalidArgument(f"{kind.capitalize()} '{', '.join(missing)}' is missing; {listed}.")
    return [*given, *(named[name] for name in names[len(given) :])]


def values_of(infos: Sequence[Named], given: Inputs, kind: str = "input") -> Sequence[Any]:
    """The same of a sequence, or of a mapping of names."""
    if isinstance(given, Mapping):
        return in_order(infos, (), given, kind)
    return in_order(infos, given, {}, kind)


def place_of(kind: str, infos: Sequence[Named], which: int | str) -> int:
    """The place of an input or output, `kind`, of a name or place. InvalidArgument if none is."""
    names = [info.name for info in infos]
    place = names.index(which) if isinstance(which, str) and which in names else which
    if not isinstance(place, int) or not 0 <= place < len(infos):
        known = ", ".join(names)
        raise InvalidArgument(f"The model has no {kind} {which!r}; it has: {known}.")
    return place


def outputs_to_fill(infos: Sequence[TensorInfo], given: Sequence[object]) -> list[Array]:
    """The memory of arrays or torch tensors that outputs go to. They must be as the outputs are."""
    return [array_of(value, info, "output") for value, info in zip(given, infos, strict=True)]


def array_of(value: Any, info: TensorInfo, kind: str) -> Array:
    """The memory of an array or torch tensor that is as the tensor: dtype, shape, order.

    `kind` is "input" or "output", which is written to. WrongType; InvalidArgument.
    """
    array = value.detach().numpy() if is_torch(value) else value
    name = f"{kind} '{info.name}'"
    if not isinstance(array, np.ndarray) or array.dtype != info.dtype:
        given = array.dtype if isinstance(array, np.ndarray) else type(value).__name__
        raise WrongType(f"{name[0].upper()}{name[1:]} is an array of {info.dtype}, not of {given}.")
    if array.shape != info.shape:
        message = (
            f"{name[0].upper()}{name[1:]} has shape {list(info.shape)}, not {list(array.shape)}."
        )
        raise InvalidArgument(message)
    if not array.flags.c_contiguous or not (array.flags.writeable or kind == "input"):
        wanted = "C-contiguous" if kind == "input" else "C-contiguous and writeable"
        raise InvalidArgument(f"The array for {name} must be {wanted}.")
    return array
