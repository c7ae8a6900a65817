"""YAML files read as trees of nodes with positions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spec_model.errors import Position, SpecError
from spec_model.yaml_nodes import Entry, Mapping, Node, Scalar, Sequence, describe

__all__ = [
    "Entry",
    "Mapping",
    "Node",
    "Scalar",
    "Sequence",
    "SourceFile",
    "describe",
    "read_text",
    "read_yaml",
]

_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read: its path, and its name in messages and products."""

    path: Path
    name: str


def read_text(source: SourceFile) -> str:
    """The file's text. Fails if it is not UTF-8."""
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
    from spec_model.yaml_parser import (
        parse_yaml,
    )  # PyYAML is optional: stored operators do not need it

    node = parse_yaml(read_text(source), source.name)
    if not isinstance(node, Mapping):
        raise SpecError.at(node.position, "A map is expected here, not " + describe(node) + ".")
    return node
