"""The declaration of an operator, `op: NAME(TYPE ARG, TYPE ARG = DEFAULT) -> OUTPUT like ARG`, as
PyTorch writes it.

The arguments become the map `args` and the outputs the map `outputs`, whose keys and values keep
their positions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from spec_model.errors import SpecError
from spec_model.yaml_nodes import Entry, Mapping, Scalar

_OP = "op"
_ARGS = "args"
_OUTPUTS = "outputs"
_ARROW = "->"
_OUTPUT = re.compile(r"\s*(?P<name>\S+)\s+(?P<value>like\s+\S+)\s*")
_ARGUMENT = re.compile(r"\s*(?P<type>\S+)\s+(?P<name>[^\s=]+)\s*(?P<default>=.*\S)?\s*")


def with_declaration(spec: Mapping) -> Mapping:
    """The spec with the arguments and outputs of its declaration as `args` and `outputs`. Fails if
    it has these keys too."""
    entries: list[Entry] = []
    for entry in spec.entries:
        if entry.key.text != _OP or not isinstance(entry.value, Scalar):
            entries.append(entry)
            continue
        name, arguments, outputs = _declared(entry.value)
        entries.append(Entry(entry.key, name))
        for key, declared in ((_ARGS, arguments), (_OUTPUTS, outputs)):
            if declared.entries:
                entries.append(Entry(Scalar(entry.key.position, key, False, False), declared))
    for key, what in ((_ARGS, "arguments"), (_OUTPUTS, "outputs")):
        positions = [entry.key.position for entry in entries if entry.key.text == key]
        if len(positions) > 1:
            message = f"'{key}' repeats the {what}, which 'op' declares; use one of them."
            raise SpecError.at(max(positions), message)
    return Mapping(spec.position, tuple(entries))


def _declared(scalar: Scalar) -> tuple[Scalar, Mapping, Mapping]:
    """The operator's name, its arguments and its outputs; none of a name alone."""
    call, outputs = scalar, Mapping(scalar.position, ())
    arrow = scalar.text.find(_ARROW)
    if arrow >= 0:
        call = scalar.part(0, len(scalar.text[:arrow].rstrip()))
        rest = scalar.part(arrow + len(_ARROW), len(scalar.text))
        outputs = Mapping(rest.position, tuple(_entries(rest, "Output", _output)))
    start, end = call.text.find("("), len(call.text) - 1
    if start < 0:
        return call, Mapping(scalar.position, ()), outputs
    if call.text[end] != ")":
        message = (
            "The arguments of an op end with ')'; expected NAME(TYPE ARG, TYPE ARG = DEFAULT)."
        )
        raise SpecError.at(call.at(end), message)
    inner = call.part(start + 1, end)
    arguments = Mapping(call.at(start + 1), tuple(_entries(inner, "Argument", _argument)))
    return call.part(0, start), arguments, outputs


def _entries(scalar: Scalar, what: str, read: Callable[[Scalar], Entry]) -> Iterator[Entry]:
    """The entries that are separated by commas."""
    names: set[str] = set()
    at = 0
    for piece in split_args(scalar.text):
        entry = read(scalar.part(at, at + len(piece)))
        if entry.key.text in names:
            raise SpecError.at(entry.key.position, f"{what} '{entry.key.text}' is repeated.")
        names.add(entry.key.text)
        at += len(piece) + 1
        yield entry


def _output(piece: Scalar) -> Entry:
    """`NAME like ARG` as the entry `NAME: like ARG`."""
    match = _OUTPUT.fullmatch(piece.text)
    if match is None:
        first = len(piece.text) - len(piece.text.lstrip())
        message = f"Output '{piece.text.strip()}' is not NAME like ARG; "
        message += "other outputs are in the map 'outputs'."
        raise SpecError.at(piece.at(first), message)
    return Entry(piece.part(*match.span("name")), piece.part(*match.span("value")))


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
