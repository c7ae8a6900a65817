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


def outputs_to_fill(infos: Sequence[TensorInfo], given: Sequence[object]) -> list[Array]:
    """The memory of arrays or torch tensors that outputs go to. They must be as the outputs are."""
    return [_to_fill(value, info) for value, info in zip(given, infos, strict=True)]


def _to_fill(value: Any, info: TensorInfo) -> Array:
    array = value.detach().numpy() if is_torch(value) else value
    if not isinstance(array, np.ndarray) or array.dtype != info.dtype:
        kind = array.dtype if isinstance(array, np.ndarray) else type(value).__name__
        raise WrongType(f"Output '{info.name}' is an array of {info.dtype}, not of {kind}.")
    if array.shape != info.shape:
        message = f"Output '{info.name}' has shape {list(info.shape)}, not {list(array.shape)}."
        raise InvalidArgument(message)
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise InvalidArgument(
            f"The array for output '{info.name}' must be C-contiguous and writeable."
        )
    return array
