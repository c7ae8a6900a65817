"""Tokenizers, streamed detokenization, and the text metadata that a graph file stores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from spirloom.family.chat_template import expand
from spirloom.family.text_metadata import TEXT_METADATA
from spirloom.installation import how_to_install
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
    """The EOS tokens, the BOS token if each text starts with it, and the pieces of the chat
    template (`spirloom.family.chat_template`)."""

    eos: frozenset[int] = frozenset()
    bos: int | None = None
    chat: Mapping[str, Any] | None = None

    def conversation(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The text of a conversation, up to the reply. Raises InvalidArgument, Unsupported."""
        if self.chat is None:
            raise Unsupported(
                "The graph file has no chat template: the model has none, or one that cannot be "
                "converted. Use a plain prompt: LLM.generate(), or /v1/completions of a server."
            )
        if not messages:
            raise InvalidArgument("The conversation has no messages.")
        for index, message in enumerate(messages):
            role, content = message.get("role"), message.get("content")
            if role not in _ROLES or not isinstance(content, str):
                raise InvalidArgument(
                    f"Message {index} is {dict(message)!r}; expected a 'role' (system, user or "
                    "assistant) and a 'content', a string."
                )
            if role == "system" and index > 0:
                raise InvalidArgument(
                    f"Message {index} has the role system, which only the first may have."
                )
            if role == "system" and self.chat["system"] is None:
                raise Unsupported("The model's chat template has no system message.")
        return expand(self.chat, [dict(message) for message in messages], generate=True)


def read_text_metadata(data: bytes) -> TextMetadata:
    """Parses the attachment TEXT_METADATA. Raises InvalidFile."""
    try:
        found = json.loads(data)
        eos, bos, chat = found["eos"], found.get("bos"), found.get("chat")
        add_bos = found.get("add_bos", False)
        if not isinstance(eos, list) or not all(map(_is_token, eos)):
            raise ValueError("'eos' is not a list of token ids")
        if not isinstance(add_bos, bool) or (add_bos and not _is_token(bos)):
            raise ValueError("'add_bos' is not a boolean, or 'bos' is not a token id")
        if chat is not None:
            _check_chat(chat)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidFile(f"The attachment {TEXT_METADATA} cannot be read: {error}.") from error
    return TextMetadata(frozenset(eos), bos if add_bos else None, chat)


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _check_chat(chat: Mapping[str, Any]) -> None:
    texts = [chat["beginning"], chat["generate"]]
    for role in _ROLES:
        if role != "system" or chat["system"] is not None:
            texts += [chat[role]["before"], chat[role]["after"]]
    if not isinstance(chat["trim"], bool) or not all(isinstance(text, str) for text in texts):
        raise ValueError("a piece of 'chat' is not a string, or 'trim' is not a boolean")


# The replacement character of incomplete UTF-8.
_REPLACEMENT = "\ufffd"


class Tokenizer(Protocol):
    """Converts text to token ids and back."""

    def encode(self, text: str) -> Sequence[int]:
        """The token ids of a text."""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of token ids."""


def read_tokenizer(path: Path) -> Tokenizer:
    """Reads a tokenizer.json with the package `tokenizers`. Raises FileMissing, Unavailable,
    InvalidFile."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise FileMissing(f"There is no {path}.") from None
    except OSError as error:
        raise InvalidFile(f"Cannot read {path}: {error.strerror}.") from error
    return parse_tokenizer(data, str(path))


def parse_tokenizer(data: bytes, name: str) -> Tokenizer:
    """Parses a tokenizer.json; messages call it `name`. Raises Unavailable, InvalidFile."""
    try:
        import tokenizers
    except ImportError:
        raise Unavailable(
            f"{name} requires the Python module 'tokenizers'. "
            f"{how_to_install('tokenizers')} Otherwise pass an object with encode() and decode() "
            "as tokenizer=."
        ) from None
    try:
        return _Library(tokenizers.Tokenizer.from_str(data.decode()))
    except Exception as error:  # the package's errors have no common type
        raise InvalidFile(f"{name} is not a valid tokenizer: {error}.") from error


class _Library:
    """A tokenizer of the package `tokenizers`."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str) -> Sequence[int]:
        # TextMetadata adds BOS. encode_batch() releases the GIL.
        (found,) = self._tokenizer.encode_batch([text], add_special_tokens=False)
        return list(found.ids)

    def decode(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(tokens)))

    @cached_property
    def max_token_length(self) -> int:
        """The number of characters of the vocabulary's longest token."""
        return max(map(len, self._tokenizer.get_vocab(with_added_tokens=True)), default=0)


def max_token_length(tokenizer: Tokenizer) -> int | None:
    """The characters that one token represents at most; None for a tokenizer of the caller."""
    return tokenizer.max_token_length if isinstance(tokenizer, _Library) else None


class StreamDecoder:
    """Decodes tokens one by one, in pieces that end with complete characters."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokens: list[int] = []
        # The text of a token depends on its predecessors, so decoding starts one piece earlier.
        self._start, self._emitted = 0, 0

    def add(self, token: int) -> str:
        """Adds a token and returns the text that is now complete, possibly empty."""
        self._tokens.append(token)
        before, after = self._texts()
        if len(after) <= len(before) or after.endswith(_REPLACEMENT):
            return ""
        self._start, self._emitted = self._emitted, len(self._tokens)
        return after[len(before) :]

    def finish(self) -> str:
        """The remaining text, including incomplete characters."""
        before, after = self._texts()
        return after[len(before) :]

    def _texts(self) -> tuple[str, str]:
        emitted = self._tokens[self._start : self._emitted]
        return self._tokenizer.decode(emitted), self._tokenizer.decode(self._tokens[self._start :])
