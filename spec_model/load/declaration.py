"""The declaration of an operator, `op: NAME(TYPE ARG, TYPE ARG = DEFAULT)`, as PyTorch writes it.

The arguments become the map `args`, whose keys and types keep their positions.
"""

from __future__ import annotations

import re

from spec_model.errors import SpecError
from spec_model.yaml_nodes import Entry, Mapping, Scalar

_OP = "op"
_ARGS = "args"
_ARGUMENT = re.compile(r"\s*(?P<type>\S+)\s+(?P<name>[^\s=]+)\s*(?P<default>=.*\S)?\s*")


def with_arguments(spec: Mapping) -> Mapping:
    """The spec with the arguments of its declaration as `args`. Fails if it has both."""
    entries: list[Entry] = []
    for entry in spec.entries:
        if entry.key.text != _OP or not isinstance(entry.value, Scalar):
            entries.append(entry)
            continue
        name, arguments = _declared(entry.value)
        entries.append(Entry(entry.key, name))
        if arguments.entries:
            entries.append(Entry(Scalar(entry.key.position, _ARGS, False, False), arguments))
    repeated = [entry.key for entry in entries if entry.key.text == _ARGS]
    if len(repeated) > 1:
        message = "'args' repeats the arguments, which 'op' declares; use one of them."
        raise SpecError.at(max(key.position for key in repeated), message)
    return Mapping(spec.position, tuple(entries))


def _declared(scalar: Scalar) -> tuple[Scalar, Mapping]:
    """The operator's name and its arguments: none of a name alone."""
    start, end = scalar.text.find("("), len(scalar.text) - 1
    if start < 0:
        return scalar, Mapping(scalar.position, ())
    if scalar.text[end] != ")":
        message = (
            "The arguments of an op end with ')'; expected NAME(TYPE ARG, TYPE ARG = DEFAULT)."
        )
        raise SpecError.at(scalar.at(end), message)
    entries: list[Entry] = []
    at = start + 1
    for piece in split_args(scalar.text[at:end]):
        entry = _argument(scalar.part(at, at + len(piece)))
        if any(entry.key.text == other.key.text for other in entries):
            raise SpecError.at(entry.key.position, f"Argument '{entry.key.text}' is repeated.")
        entries.append(entry)
        at += len(piece) + 1
    return scalar.part(0, start), Mapping(scalar.at(start + 1), tuple(entries))


def _argument(piece: Scalar) -> Entry:
    """`TYPE NAME = DEFAULT` as the entry `NAME: TYPE = DEFAULT`."""
    match = _ARGUMENT.fullmatch(piece.text)
    if match is None:
        first = len(piece.text) - len(piece.text.lstrip())
        message = f"Argument '{piece.text.strip()}' is not TYPE NAME or TYPE NAME = DEFAULT."
        raise SpecError.at(piece.at(first), message)
    word = piece.part(*match.span("type"))
    if match["default"] is not None:
        default = piece.part(*match.span("default"))
        offset = len(word.text) + 1
        inner = ((offset + first, position) for first, position in default.pieces)
        pieces = (*word.pieces, (offset, default.position), *inner)
        text = f"{word.text} {default.text}"
        word = Scalar(word.position, text, word.quoted, word.located, pieces)
    return Entry(piece.part(*match.span("name")), word)


def split_args(text: str) -> list[str]:
    """Splits at the commas outside brackets."""
    if not text.strip():
        return []
    pieces, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            pieces.append(text[start:i])
            start = i + 1
    return [*pieces, text[start:]]
