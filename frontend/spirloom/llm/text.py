"""Between text and tokens: any tokenizer, and text that comes token by token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from spirloom.runtime.errors import FileMissing, InvalidFile, Unavailable

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
