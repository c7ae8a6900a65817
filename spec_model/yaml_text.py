"""Nodes as YAML text, in the layout of specs."""

from __future__ import annotations

import json
import re

from spec_model.yaml_nodes import Entry, Mapping, Node, Scalar, Sequence

_PLAIN = re.compile(r"[\w.$/(<>=+-][^#:,\[\]{}\"'\n]*")
_BLOCK_DEPTH = 2  # deeper maps and lists are in flow style
_MAX_WIDTH = 100


def entry_text(entry: Entry) -> str:
    """A top-level entry of a spec."""
    return "\n".join(_entry(entry, 0))


def item_text(item: Mapping) -> str:
    """An item of the list `kernels`: its keys are on lines of their own."""
    return "\n".join(_item(item, 1, block=True))


def case_text(case: Node) -> str:
    """An item of the list `tests`, on one line."""
    (line,) = _item(case, 1, block=False)
    return line


def _entry(entry: Entry, depth: int) -> list[str]:
    indent = "  " * depth
    line = f"{indent}{entry.key.text}: {_flow(entry.value)}".rstrip()
    if isinstance(entry.value, Scalar) or not _children(entry.value):
        return [line]
    if depth >= _BLOCK_DEPTH or (depth > 0 and len(line) <= _MAX_WIDTH):
        return [line]
    head = f"{indent}{entry.key.text}:"
    if isinstance(entry.value, Mapping):
        return [head, *(text for e in entry.value.entries for text in _entry(e, depth + 1))]
    block = entry.key.text == "kernels"
    return [head, *(text for item in entry.value.items for text in _item(item, depth + 1, block))]


def _item(item: Node, depth: int, block: bool) -> list[str]:
    """An item of a list: on one line, or, if `block`, the keys of a map on lines of their own."""
    indent = "  " * depth
    if not block or not isinstance(item, Mapping):
        return [f"{indent}- {_flow(item)}"]
    lines = [text for entry in item.entries for text in _entry(entry, depth + 1)]
    return [f"{indent}- {lines[0].lstrip()}", *lines[1:]]


def _flow_entry(entry: Entry) -> str:
    if isinstance(entry.value, Scalar) and entry.value.is_null and not entry.value.text:
        return entry.key.text
    return f"{entry.key.text}: {_flow(entry.value)}"


def _children(node: Mapping | Sequence) -> int:
    return len(node.entries if isinstance(node, Mapping) else node.items)


def _flow(node: Node) -> str:
    if isinstance(node, Mapping):
        return "{" + ", ".join(map(_flow_entry, node.entries)) + "}"
    if isinstance(node, Sequence):
        return "[" + ", ".join(map(_flow, node.items)) + "]"
    is_plain = node.is_null or _PLAIN.fullmatch(node.text) is not None
    return node.text if is_plain and not node.quoted else json.dumps(node.text, ensure_ascii=False)
