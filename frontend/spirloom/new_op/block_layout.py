"""A spec with each definition, check, case and key of a kernel on a line of its own.

The scaffold selects and changes such lines. Comments and the lines of other entries are kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from spec_model.fields import as_mapping
from spec_model.yaml_nodes import Entry, Mapping, Node, Scalar, Sequence
from spec_model.yaml_parser import parse_yaml
from spec_model.yaml_text import entry_text, item_text

_LISTS = ("checks", "tests")
_BLOCKS = ("args", "let", "kernel", *_LISTS)


def in_block_layout(text: str, name: str) -> str:
    """The text of the spec of one operator; `name` is that of the file, for errors."""
    lines = text.splitlines()
    entries = as_mapping(parse_yaml(text, name), "a spec").entries
    starts = [_line(entry.key) for entry in entries]
    result = lines[: starts[0]]
    for entry, start, end in zip(entries, starts, [*starts[1:], len(lines)], strict=True):
        result += _entry(entry, lines[:end], start)
    return "\n".join(result) + "\n"


def _line(node: Node) -> int:
    """The node's first line, counted from 0."""
    return node.position.line - 1


def _entry(entry: Entry, lines: list[str], start: int) -> Iterator[str]:
    """The lines of an entry, which begins at `start` and ends with the lines."""
    key, value = entry.key.text, entry.value
    if key in _LISTS and isinstance(value, Scalar):
        value = Sequence(value.position, (value,))
    if key == "kernels" and isinstance(value, Sequence) and _line(value) > start:
        yield from _kernels(value, lines, start)
    elif key in (*_BLOCKS, "kernels") and _line(value) == start:
        yield from entry_text(Entry(entry.key, value)).split("\n")
        yield from _comments(lines[start:])
    else:
        yield from lines[start:]


def _kernels(kernels: Sequence, lines: list[str], start: int) -> Iterator[str]:
    starts = [_line(item) for item in kernels.items]
    yield from lines[start : starts[0]]
    for item, first, end in zip(kernels.items, starts, [*starts[1:], len(lines)], strict=True):
        is_flow = lines[first][item.position.column - 1] == "{"
        if isinstance(item, Mapping) and is_flow:
            yield from item_text(item).split("\n")
            yield from _comments(lines[first:end])
        else:
            yield from lines[first:end]


def _comments(lines: list[str]) -> list[str]:
    """The comments after an entry or item, which are those of the next one."""
    count = 0
    while count < len(lines) and lines[-1 - count].lstrip().startswith("#"):
        count += 1
    return lines[len(lines) - count :]
