"""Tokenizers, streamed detokenization, and the text metadata that a graph file stores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from spirloom.hf.chat_template import expand
from spirloom.hf.text_metadata import TEXT_METADATA
from spirloom.runtime.errors import (
    FileMissing,
    InvalidArgument,
    InvalidFile,
    Unavailable,
    Unsupported,
)

_ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class TextMetadata:
    """Numbers of tokens: those that end a text, and the one that each text begins with."""

    eos: frozenset[int] = frozenset()
    bos: int | None = None
    chat: Mapping[str, Any] | None = None
    """The pieces of `spirloom.hf.chat_template`."""

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


def read_text_metadata(data: bytes) -> TextMetadata:
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
        raise InvalidFile(f"The attachment {TEXT_METADATA} cannot be read: {error}.") from error
    return TextMetadata(frozenset(eos), bos if begins else None, chat)


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _check_chat(chat: Mapping[str, Any]) -> None:
    texts = [chat["beginning"], chat["generate"]]
    for role in _ROLES:
        if role != "system" or chat["system"] is not None:
            texts += [chat[role]["before"], chat[role]["after"]]
    if not isinstance(chat["trim"], bool) or not all(isinstance(text, str) for text in texts):
        raise ValueError("the chat's pieces are no texts, or 'trim' is no flag")


# What decoders give for bytes that are no whole character.
_REPLACEMENT = "\ufffd"


class Tokenizer(Protocol):
    """Text as numbers of tokens, and back."""

    def encode(self, text: str) -> Sequence[int]:
        """The tokens of a text."""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""


def read_tokenizer(path: Path) -> Tokenizer:
    """Of a tokenizer.json, by the package `tokenizers`. FileMissing, Unavailable, InvalidFile."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise FileMissing(f"There is no {path}.") from error
    except OSError as error:
        raise InvalidFile(f"Cannot read {path}: {error.strerror}.") from error
    return parse_tokenizer(data, str(path))


def parse_tokenizer(data: bytes, name: str) -> Tokenizer:
    """Of what a tokenizer.json holds; `name` is that of messages. Unavailable, InvalidFile."""
    try:
        import tokenizers
    except ImportError as error:
        raise Unavailable(
            f"{name} is read by the package tokenizers: pip install 'spirloom[llm]'; or pass what "
            "has encode() and decode() as tokenizer=."
        ) from error
    try:
        return _Library(tokenizers.Tokenizer.from_str(data.decode()))
    except Exception as error:  # of the package's own, without a common type
        raise InvalidFile(f"{name} is no tokenizer: {error}.") from error


class _Library:
    """A tokenizer of the package `tokenizers`."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str) -> Sequence[int]:
        # What a text begins with is said by the model. A batch lets other threads run meanwhile.
        (found,) = self._tokenizer.encode_batch([text], add_special_tokens=False)
        return list(found.ids)

    def decode(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(tokens)))


class Streamed:
    """The text of tokens that come one by one, each piece once its characters are whole."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokens: list[int] = []
        # Where a piece begins depends on the tokens before it, so the last piece's stay.
        self._kept, self._said = 0, 0

    def add(self, token: int) -> str:
        """What can be said now, often nothing."""
        self._tokens.append(token)
        before, after = self._texts()
        if len(after) <= len(before) or after.endswith(_REPLACEMENT):
            return ""
        self._kept, self._said = self._said, len(self._tokens)
        return after[len(before) :]

    def rest(self) -> str:
        """What is left at the end, whole or not."""
        before, after = self._texts()
        return after[len(before) :]

    def _texts(self) -> tuple[str, str]:
        said = self._tokens[self._kept : self._said]
        return self._tokenizer.decode(said), self._tokenizer.decode(self._tokens[self._kept :])
