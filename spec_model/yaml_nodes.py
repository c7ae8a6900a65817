"""YAML nodes with their positions in the file."""

from __future__ import annotations

from dataclasses import dataclass

from spec_model.errors import Position


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar as written. A `quoted` one is always a string."""

    position: Position  # of its first character, after an opening quote
    text: str
    quoted: bool
    located: bool  # whether characters of `text` have positions: see at()
    pieces: tuple[tuple[int, Position], ...] = ()  # offset and position of each piece but the first

    @property
    def is_null(self) -> bool:
        """Whether it is null: `null`, `~` or empty."""
        return not self.quoted and self.text in ("", "null", "~", "Null", "NULL")

    def at(self, offset: int) -> Position:
        """The position of character `offset` of the text; of the first one if that is unknown."""
        if not self.located:
            return self.position
        start, position = 0, self.position
        for first, each in self.pieces:
            if first <= offset:
                start, position = first, each
        return position.shifted(offset - start)

    def part(self, start: int, end: int) -> Scalar:
        """The text from `start` to `end` as a scalar of its own."""
        inner = tuple((at - start, position) for at, position in self.pieces if start < at < end)
        return Scalar(self.at(start), self.text[start:end], self.quoted, self.located, inner)


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    position: Position
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value` of a map."""

    key: Scalar
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    """A map with distinct scalar keys, in the order of the file."""

    position: Position
    entries: tuple[Entry, ...]

    def get(self, name: str) -> Node | None:
        """The value of key `name`, or None."""
        return next((e.value for e in self.entries if e.key.text == name), None)


Node = Scalar | Sequence | Mapping


def describe(node: Node) -> str:
    """A description of the node for messages."""
    if isinstance(node, Scalar):
        return "null" if node.is_null else f"'{node.text}'"
    return "a list" if isinstance(node, Sequence) else "a map"
