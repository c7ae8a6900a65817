"""Walks the messages of which an ONNX model consists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.message import Message


def messages(message: Message) -> Iterator[Message]:
    """The message and all within it; how deep they are nested, the parser bounds."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for item in items_of(value):
                yield from messages(item)


def items_of(value: Any) -> Iterable[Any]:
    """The values of a field of messages, strings or bytes, which may be repeated."""
    return [value] if isinstance(value, Message | str | bytes) else value
