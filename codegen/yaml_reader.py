"""YAML with positions: files become trees of nodes that know where they were written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codegen.errors import Position, SpecError

_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar as written; `quoted` ones are strings whatever they look like."""

    position: Position  # of its first character, after an opening quote
    text: str
    quoted: bool
    one_line: bool  # columns inside `text` are columns in the file

    @property
    def is_null(self) -> bool:
        """Whether it stands for nothing: `null`, `~` or empty."""
        return not self.quoted and self.text in ("", "null", "~", "Null", "NULL")

    def at(self, offset: int) -> Position:
        """Where character `offset` of the text stands."""
        return self.position.shifted(offset) if self.one_line else self.position


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
        """The value of key `name`, if it is there."""
        return next((e.value for e in self.entries if e.key.text == name), None)


Node = Scalar | Sequence | Mapping


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read: where it is, and what messages and products call it."""

    path: Path
    name: str


def read_text(source: SourceFile) -> str:
    """The file's text. Fails unless it is UTF-8."""
    try:
        data = source.path.read_bytes()
    except OSError as error:
        raise SpecError.at(Position(source.name), f"Cannot be read: {error.strerror}.") from None
    if len(data) > _MAX_BYTES:
        message = f"File of {len(data)} bytes is larger than the limit ({_MAX_BYTES})."
        raise SpecError.at(Position(source.name), message)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"Byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8."
        raise SpecError.at(Position(source.name, line, column), message) from None


def read_yaml(source: SourceFile) -> Mapping:
    """The file as a map. Fails on malformed YAML, aliases, tags and repeated keys."""
    from codegen.yaml_parser import parse_yaml  # operators that were read before need no PyYAML

    node = parse_yaml(read_text(source), source.name)
    if not isinstance(node, Mapping):
        raise SpecError.at(node.position, "A map is expected here, not " + describe(node) + ".")
    return node


def describe(node: Node) -> str:
    """What a node is, for messages."""
    if isinstance(node, Scalar):
        return "null" if node.is_null else f"'{node.text}'"
    return "a list" if isinstance(node, Sequence) else "a map"
