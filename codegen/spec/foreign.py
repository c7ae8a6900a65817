"""Names that an operator has elsewhere, and how the arguments of such calls find its own."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.errors import Position
from codegen.expr.types import Value


@dataclass(frozen=True, slots=True)
class Exactly:
    """A place whose argument must have this value; None: must be absent."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class ShapeOf:
    """The shape of a tensor of the call, from a dim on."""

    tensor: str  # an arg or an output
    first: int = 0


@dataclass(frozen=True, slots=True)
class DTypeOf:
    """The dtype of a tensor of the call."""

    tensor: str


# What the argument at one place is: the arg of that name, args that take the elements of a list,
# a value that it must have, or nothing that matters.
Place = str | tuple[str, ...] | Exactly | None


@dataclass(frozen=True, slots=True)
class ForeignName:
    """One name, and the calls of it that the op computes."""

    name: str
    position: Position
    places: tuple[Place, ...]
    settings: tuple[tuple[str, Value | ShapeOf | DTypeOf], ...] = ()  # args that no place gives
    rank: int | None = None  # of the first tensor; None: any
    part: int = 0  # which of the calls of ours that compute one together this is
    parts: int = 1  # how many they are
    # The call's result that the op's first output is, or the arg that the call changes: what it is
    # given there becomes the output.
    result: int | str = 0

    def differs(self, other: ForeignName) -> bool:
        """Whether no call is one of both, or they are different parts of it."""
        if (self.part, self.parts) != (other.part, other.parts):
            return self.parts == other.parts
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            return True
        return any(
            isinstance(ours, Exactly) and isinstance(theirs, Exactly) and ours != theirs
            for ours, theirs in zip(self.places, other.places, strict=False)
        )
