"""Byte-level BPE of a tokenizer.json, as the library `tokenizers` reads it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

# Words of GPT-2's pattern, over text whose characters beyond ASCII are replaced by _standing_for's.
_WORDS = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", re.ASCII
)


class Tokenizer:
    """Text as numbers of tokens, and back. `size` is how many tokens there are."""

    def __init__(self, vocabulary: dict[str, int], merges: Sequence[tuple[str, str]]) -> None:
        self._numbers = vocabulary
        self._texts = {number: text for text, number in vocabulary.items()}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self.size = len(vocabulary)

    @classmethod
    def read(cls, text: str) -> Tokenizer:
        """From what a tokenizer.json holds."""
        model = json.loads(text)["model"]
        pairs = (merge.split(" ") for merge in model["merges"])
        return cls(model["vocab"], [(pair[0], pair[1]) for pair in pairs])

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        parts = (part for word in words(text) for part in self._merged(symbols(word)))
        return [self._numbers[part] for part in parts]

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of tokens; bytes that are no text yet become a replacement character."""
        back = {symbol: byte for byte, symbol in enumerate(byte_symbols())}
        spelled = "".join(self._texts[token] for token in tokens)
        return bytes(back[symbol] for symbol in spelled).decode("utf-8", errors="replace")

    def _merged(self, parts: list[str]) -> list[str]:
        """Neighbours become one, those first that were learnt first."""
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
    """A tokenizer.json."""
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
    """What merges do not cross: a word with the space before it, digits, signs, white space."""
    simple = "".join(map(_standing_for, text))
    return [text[found.start() : found.end()] for found in _WORDS.finditer(simple)]


def symbols(word: str) -> list[str]:
    """The bytes of a word, each as the character that stands for it."""
    return [byte_symbols()[byte] for byte in word.encode("utf-8")]


@cache
def byte_symbols() -> tuple[str, ...]:
    """A visible character for each byte: itself, or one from 256 on."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return tuple(chr(byte if byte in visible else next(others)) for byte in range(256))


@cache
def _standing_for(character: str) -> str:
    """An ASCII character of the same kind: letter, number, white space or another."""
    if character.isascii():
        return character
    if character.isspace():
        return "\t"
    return {"L": "A", "N": "0"}.get(unicodedata.category(character)[0], "#")
