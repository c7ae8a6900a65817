"""Vocabularies of the kind `llama`: SentencePiece's BPE, whose merges follow from scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spirloom.errors import ImportFailure
from spirloom.gguf.cursor import Value
from spirloom.gguf.words import KEY, NORMAL, UNKNOWN, Words, array

_SPACE = "▁"
_LONGEST = 256  # of a piece that is merged; SentencePiece makes none beyond 16 unless told


def unknown(metadata: Mapping[str, Value]) -> str | None:
    """What of such a vocabulary is not known."""
    charsmap = metadata.get(f"{KEY}precompiled_charsmap")
    if charsmap is not None and len(charsmap):  # type: ignore[arg-type]
        return "which replaces characters"
    if metadata.get(f"{KEY}remove_extra_whitespaces", False) is not False:
        return "which takes spaces away"
    return None


def tokenizer(metadata: Mapping[str, Value], words: Words) -> dict[str, Any]:
    """A tokenizer.json, where every part of a text between added tokens gets a space before it, as
    in llama.cpp. Raises ImportFailure."""
    scores = array(metadata, "scores", len(words.texts), "f")
    if scores is None:
        raise ImportFailure(f"{KEY}scores is missing, which a vocabulary of pieces needs.")
    prefixed = metadata.get(f"{KEY}add_space_prefix", True) is not False
    spaced = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
    unspaced = {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    before = [{"type": "Prepend", "prepend": _SPACE}] if prefixed else []
    after = [strip] if prefixed else []
    unknowns = [t for t, kind in zip(words.texts, words.types, strict=True) if kind == UNKNOWN]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": words.added(),
        "normalizer": {"type": "Sequence", "normalizers": [*before, spaced]},
        "pre_tokenizer": None, "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [unspaced, {"type": "ByteFallback"}, {"type": "Fuse"}, *after],
        },
        "model": {
            "type": "BPE", "dropout": None, "unk_token": unknowns[0] if unknowns else None,
            "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
            "byte_fallback": True, "ignore_merges": False, "vocab": words.numbers(),
            "merges": _merges(words, scores.tolist()),
        },
    }  # fmt: skip


def _merges(words: Words, scores: list[float]) -> list[list[str]]:
    """Every two pieces that are one together, in the order of that one's score: SentencePiece
    merges first what scores most."""
    of_pieces = {
        text: score
        for text, kind, score in zip(words.texts, words.types, scores, strict=True)
        if kind == NORMAL
    }
    merges: list[list[str]] = []
    for piece in sorted(of_pieces, key=lambda text: -of_pieces[text]):
        if len(piece) > _LONGEST:
            raise ImportFailure(
                f"A piece of {len(piece)} characters is too long; {_LONGEST} is the most."
            )
        halves = ((piece[:i], piece[i:]) for i in range(1, len(piece)))
        merges += ([a, b] for a, b in halves if a in of_pieces and b in of_pieces)
    return merges
