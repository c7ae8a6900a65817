"""YAML text → nodes with positions, using PyYAML."""

from __future__ import annotations

import functools

import yaml

from spec_model.errors import Position, SpecError
from spec_model.yaml_nodes import Entry, Mapping, Node, Scalar, Sequence, describe

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML without libyaml
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_MAX_DEPTH = 50
_SAFE_COUNT = 2000  # this many opening characters cannot exhaust the composer's stack
_TAG_PREFIX = "tag:yaml.org,2002:"


def parse_yaml(text: str, file: str) -> Node:
    """The text as a node. Fails on malformed or empty YAML, aliases, tags and repeated keys."""
    try:
        _check_depth(text, file)
        root = yaml.compose(text, Loader=_Loader)  # type: ignore[no-untyped-call]
    except yaml.MarkedYAMLError as error:
        raise SpecError.at(_error_position(file, error), _yaml_message(error, text)) from None
    except yaml.reader.ReaderError as error:
        raise SpecError.at(_reader_position(file, text), _reader_message(error)) from None
    if root is None:
        raise SpecError.at(Position(file, 1, 1), "File is empty; a map is expected here.")
    return _Converter(file, text).convert(root)


class _Converter:
    """Converts the nodes of PyYAML."""

    def __init__(self, file: str, text: str) -> None:
        self._position = functools.partial(Position, file)
        self._lines = text.split("\n")
        self._seen: set[int] = set()

    def convert(self, node: yaml.Node, depth: int = 0) -> Node:
        mark = node.start_mark
        position = self._position(mark.line + 1, mark.column + 1)
        if depth > _MAX_DEPTH:
            raise SpecError.at(position, f"Nesting is deeper than {_MAX_DEPTH} levels.")
        if id(node) in self._seen:
            raise SpecError.at(position, "YAML aliases are not supported; repeat the value.")
        self._seen.add(id(node))
        if not node.tag.startswith(_TAG_PREFIX):
            message = f"YAML tag '{node.tag}' is not supported; remove it."
            raise SpecError.at(position, message)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, position)
        if isinstance(node, yaml.SequenceNode):
            return Sequence(position, tuple(self.convert(item, depth + 1) for item in node.value))
        return self._mapping(node, position, depth + 1)

    def _scalar(self, node: yaml.ScalarNode, position: Position) -> Scalar:
        quoted = bool(node.style)
        start = position.shifted(1) if node.style in ("'", '"') else position
        if node.start_mark.line != node.end_mark.line:
            pieces = self._pieces(node)
            if not pieces:
                return Scalar(start, node.value, quoted, False)
            return Scalar(pieces[0][1], node.value, quoted, True, pieces[1:])
        width = node.end_mark.column - node.start_mark.column
        located = width == len(node.value) + (2 if quoted else 0)
        return Scalar(start, node.value, quoted, located)

    def _pieces(self, node: yaml.ScalarNode) -> tuple[tuple[int, Position], ...]:
        """Offset and position of each line of a scalar that is not empty; the first has offset 0.

        Empty if the lines have escapes.
        """
        first, last = node.start_mark, node.end_mark
        lines = self._lines[first.line : last.line + 1]
        lines[-1] = lines[-1][: last.column]
        opening = len(lines[0]) if node.style in ("|", ">") else first.column
        closing = 1 if node.style in ("'", '"') else 0
        lines[0] = " " * (opening + closing) + lines[0][opening + closing :]
        lines[-1] = lines[-1][: len(lines[-1]) - closing]
        pieces: list[tuple[int, Position]] = []
        end = 0
        for number, line in enumerate(lines, start=first.line + 1):
            text = line.strip()
            if not text:
                continue
            offset = node.value.find(text, end)
            if offset < 0 or node.value[end:offset].strip():
                return ()
            first_column = len(line) - len(line.lstrip()) + 1
            pieces.append((offset if pieces else 0, self._position(number, first_column)))
            end = offset + len(text)
        return tuple(pieces) if not node.value[end:].strip() else ()

    def _mapping(self, node: yaml.Node, position: Position, depth: int) -> Mapping:
        entries: list[Entry] = []
        first: dict[str, Scalar] = {}
        for key_node, value_node in node.value:
            key = self.convert(key_node, depth)
            if not isinstance(key, Scalar):
                raise SpecError.at(key.position, f"Key is {describe(key)}; it must be a name.")
            if key.text in first:
                line = first[key.text].position.line
                message = f"Key '{key.text}' is repeated; line {line} has it already."
                raise SpecError.at(key.position, message)
            first[key.text] = key
            entries.append(Entry(key, self.convert(value_node, depth)))
        return Mapping(position, tuple(entries))


def _check_depth(text: str, file: str) -> None:
    """Rejects nesting that would exhaust the stack of the recursive composer."""
    if sum(map(text.count, "[{-:?")) <= _SAFE_COUNT:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH + 1:
                mark = event.start_mark
                message = f"Nesting is deeper than {_MAX_DEPTH} levels."
                raise SpecError.at(Position(file, mark.line + 1, mark.column + 1), message)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _error_position(file: str, error: yaml.MarkedYAMLError) -> Position:
    mark = error.problem_mark or error.context_mark
    return Position(file, mark.line + 1, mark.column + 1) if mark else Position(file, 1, 1)


def _yaml_message(error: yaml.MarkedYAMLError, text: str) -> str:
    before, found = _around(error.problem_mark, text)
    if found == "\t":
        return "YAML does not allow tabs as indentation; use spaces."
    context = f" {error.context}" if error.context else ""
    hint = ""
    # A bracket or a quote ended an unquoted expression.
    ended = "did not find expected" in str(error.problem) and before.endswith(("]", "}", '"', "'"))
    if ended or "expected ',' or" in str(error.problem) or "mapping values" in str(error.problem):
        hint = " Quote expressions that contain brackets, commas or colons."
    return f"Malformed YAML{context}: {error.problem}.{hint}"


def _around(mark: yaml.Mark | None, text: str) -> tuple[str, str]:
    """The line's text before the mark, without trailing spaces, and the character at the mark."""
    lines = text.split("\n")
    if mark is None or mark.line >= len(lines):
        return "", ""
    line = lines[mark.line]
    return line[: mark.column].rstrip(), line[mark.column : mark.column + 1]


def _reader_position(file: str, text: str) -> Position:
    """The position of the first character that YAML does not allow."""
    for row, line in enumerate(text.split("\n"), start=1):
        for column, char in enumerate(line, start=1):
            code = ord(char)
            if (code < 32 and char not in "\t\r") or (127 <= code < 160 and code != 133):
                return Position(file, row, column)
            if 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF):
                return Position(file, row, column)
    return Position(file, 1, 1)


def _reader_message(error: yaml.reader.ReaderError) -> str:
    return f"Malformed YAML: {error.reason}."
