"""Byte-level BPE with the tokenizer.json format of the package `tokenizers`."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

# GPT-2's pretokenizer pattern, for text whose non-ASCII characters _ascii_class() has replaced.
_WORDS = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", re.ASCII
)


class Tokenizer:
    """Converts between text and token ids. `size` is the number of tokens in the vocabulary."""

    def __init__(self, vocabulary: dict[str, int], merges: Sequence[tuple[str, str]]) -> None:
        self._ids = vocabulary
        self._texts = {token: text for text, token in vocabulary.items()}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.size = len(vocabulary)

    @classmethod
    def read(cls, text: str) -> Tokenizer:
        """Parses the content of a tokenizer.json."""
        model = json.loads(text)["model"]
        pairs = (merge.split(" ") for merge in model["merges"])
        return cls(model["vocab"], [(pair[0], pair[1]) for pair in pairs])

    def encode(self, text: str) -> list[int]:
        """Returns the token ids of a text."""
        parts = (part for word in words(text) for part in self._merged(symbols(word)))
        return [self._ids[part] for part in parts]

    def decode(self, tokens: Iterable[int]) -> str:
        """Returns the text of tokens; incomplete UTF-8 sequences become a replacement character."""
        back = {symbol: byte for byte, symbol in enumerate(byte_symbols())}
        joined = "".join(self._texts[token] for token in tokens)
        return bytes(back[symbol] for symbol in joined).decode("utf-8", errors="replace")

    def _merged(self, parts: list[str]) -> list[str]:
        """Applies the merges to adjacent symbols, in the order in which they were learned."""
        while len(parts) > 1:
            ranks = [self._ranks.get(pair, len(self._ranks)) for pair in pairwise(parts)]
            at = min(range(len(ranks)), key=ranks.__getitem__)
            if ranks[at] == len(self._ranks):
                break
            parts = [*parts[:at], parts[at] + parts[at + 1], *parts[at + 2 :]]
        return parts


def write_tokenizer(
    path: Path, vocabulary: dict[str, int], merges: Iterable[Sequence[str]]
) -> None:
    """Writes a tokenizer.json."""
    level: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "vocab": vocabulary,
        "merges": [" ".join(pair) for pair in merges],
    }
    content: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {**level, "use_regex": True},
        "post_processor": None,
        "decoder": {**level, "use_regex": True},
        "model": model,
    }
    path.write_text(json.dumps(content, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def words(text: str) -> list[str]:
    """Splits text into units that merges do not cross: a word with its leading space, digits,
    punctuation, white space."""
    simple = "".join(map(_ascii_class, text))
    return [text[found.start() : found.end()] for found in _WORDS.finditer(simple)]


def symbols(word: str) -> list[str]:
    """Returns the bytes of a word, each as the visible character that represents it."""
    return [byte_symbols()[byte] for byte in word.encode("utf-8")]


@cache
def byte_symbols() -> tuple[str, ...]:
    """Returns a visible character for each byte: itself, or a character from U+0100 on."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return tuple(chr(byte if byte in visible else next(others)) for byte in range(256))


@cache
def _ascii_class(character: str) -> str:
    """Returns an ASCII character of the same class: letter, number, white space or other."""
    if character.isascii():
        return character
    if character.isspace():
        return "\t"
    return {"L": "A", "N": "0"}.get(unicodedata.category(character)[0], "#")
