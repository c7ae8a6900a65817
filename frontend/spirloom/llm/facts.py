"""What a graph file says of its language model: which tokens begin and end a text, how it chats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spirloom.hf.chat import expand
from spirloom.hf.language import FACTS
from spirloom.runtime.errors import InvalidArgument, InvalidFile, Unsupported

_ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class Facts:
    """Numbers of tokens: those that end a text, and the one that each text begins with."""

    eos: frozenset[int] = frozenset()
    bos: int | None = None
    chat: Mapping[str, Any] | None = None
    """The pieces of `spirloom.hf.chat`."""

    def conversation(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Its text, up to where the reply goes on. Raises InvalidArgument, Unsupported."""
        if self.chat is None:
            raise Unsupported(
                "The graph file does not say how the model chats, as the model has no chat "
                "template, or none of messages one after the other. It continues plain prompts."
            )
        if not messages:
            raise InvalidArgument("There are no messages to reply to.")
        for place, message in enumerate(messages):
            role, content = message.get("role"), message.get("content")
            if role not in _ROLES or not isinstance(content, str):
                raise InvalidArgument(
                    f"Message {place} is {dict(message)!r}; it has a role (system, user or "
                    "assistant) and a content, which is text."
                )
            if role == "system" and place > 0:
                raise InvalidArgument(f"Message {place} is the system's, which can only be first.")
            if role == "system" and self.chat["system"] is None:
                raise Unsupported("The model's chat takes no system message.")
        return expand(self.chat, [dict(message) for message in messages], generate=True)


def read_facts(data: bytes) -> Facts:
    """Of an attachment. Raises InvalidFile."""
    try:
        found = json.loads(data)
        eos, bos, chat = found["eos"], found.get("bos"), found.get("chat")
        begins = found.get("add_bos", False)
        if not isinstance(eos, list) or not all(map(_is_token, eos)):
            raise ValueError("'eos' holds something else than numbers of tokens")
        if not isinstance(begins, bool) or (begins and not _is_token(bos)):
            raise ValueError("'add_bos' is no flag, or 'bos' is no number of a token")
        if chat is not None:
            _check_chat(chat)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidFile(f"The attachment {FACTS} cannot be read: {error}.") from error
    return Facts(frozenset(eos), bos if begins else None, chat)


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _check_chat(chat: Mapping[str, Any]) -> None:
    texts = [chat["beginning"], chat["generate"]]
    for role in _ROLES:
        if role != "system" or chat["system"] is not None:
            texts += [chat[role]["before"], chat[role]["after"]]
    if not isinstance(chat["trim"], bool) or not all(isinstance(text, str) for text in texts):
        raise ValueError("the chat's pieces are no texts, or 'trim' is no flag")
