"""Vocabularies of the kind `gpt2`: words of bytes, merged in the order that the file tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spirloom.gguf.cursor import Value
from spirloom.gguf.words import KEY, Words, texts

# Which words `tokenizer.ggml.pre` splits a text into, before merges.
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_PATTERNS = {"gpt-2": None, "llama-bpe": _LLAMA3, "qwen2": _QWEN}


def unknown(metadata: Mapping[str, Value]) -> str | None:
    """What of such a vocabulary is not known."""
    pre = metadata.get(f"{KEY}pre", "gpt-2")
    if isinstance(pre, str) and pre in _PATTERNS:
        return None
    return f"whose words are split as {pre!r} does, not {', '.join(map(repr, _PATTERNS))}"


def tokenizer(metadata: Mapping[str, Value], words: Words) -> dict[str, Any]:
    """A tokenizer.json. Raises ImportFailure."""
    pre = str(metadata.get(f"{KEY}pre", "gpt-2"))
    level: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    pattern = _PATTERNS[pre]
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
             "invert": False}  # fmt: skip
    parts = [split, {**level, "use_regex": False}]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": words.added(),
        "normalizer": {"type": "NFC"} if pre == "qwen2" else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": parts} if pattern else
                         {**level, "use_regex": True},
        "post_processor": None, "decoder": {**level, "use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "ignore_merges": pre == "llama-bpe", "vocab": words.numbers(),
            "merges": texts(metadata, "merges"),
        },
    }  # fmt: skip
