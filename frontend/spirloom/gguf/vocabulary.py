"""The vocabulary of a GGUF file as a tokenizer.json, and what ends and begins its texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from spirloom.errors import ImportFailure
from spirloom.gguf.cursor import Value
from spirloom.hf.chat import chat_pieces
from spirloom.hf.language import FACTS, TOKENIZER
from spirloom.text import shown

# Which words `tokenizer.ggml.pre` splits a text into, before merges.
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_PATTERNS = {"gpt-2": None, "llama-bpe": _LLAMA3, "qwen2": _QWEN}
_CONTROL, _USER_DEFINED = 3, 4  # of tokenizer.ggml.token_type
_KEY = "tokenizer.ggml."


def attachments_of(metadata: Mapping[str, Value], say: Callable[[str], None]) -> dict[str, bytes]:
    """TOKENIZER and FACTS; nothing of a file whose vocabulary is of another kind than byte-level
    BPE with a known way to split words, of which `say` hears a line.
    """
    kind, pre = metadata.get(f"{_KEY}model"), metadata.get(f"{_KEY}pre", "gpt-2")
    if kind is None:
        return {}
    if kind != "gpt2" or pre not in _PATTERNS:
        say(
            f"Its vocabulary, of kind {kind!r} and words of {pre!r}, is left out: known is 'gpt2' "
            f"with {', '.join(map(repr, _PATTERNS))}. Give a tokenizer.json when it runs."
        )
        return {}
    words = _texts(metadata, "tokens")
    facts = _facts(metadata, words, say)
    return {
        TOKENIZER: _encoded(_tokenizer(metadata, words, str(pre))),
        FACTS: _encoded(facts),
    }


def _tokenizer(metadata: Mapping[str, Value], words: list[str], pre: str) -> dict[str, Any]:
    types = _types(metadata, len(words))
    added = [
        {
            "id": number, "content": words[number], "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": False, "special": kind == _CONTROL,
        }
        for number, kind in enumerate(types)
        if kind in (_CONTROL, _USER_DEFINED)
    ]  # fmt: skip
    # With those that are added: only then they keep their numbers.
    vocabulary = {word: number for number, word in enumerate(words)}
    level: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    pattern = _PATTERNS[pre]
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
             "invert": False}  # fmt: skip
    parts = [split, {**level, "use_regex": False}]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "NFC"} if pre == "qwen2" else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": parts} if pattern else
                         {**level, "use_regex": True},
        "post_processor": None, "decoder": {**level, "use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "ignore_merges": pre == "llama-bpe", "vocab": vocabulary,
            "merges": _texts(metadata, "merges"),
        },
    }  # fmt: skip


def _facts(
    metadata: Mapping[str, Value], words: list[str], say: Callable[[str], None]
) -> dict[str, Any]:
    bos, eos = (_token(metadata, f"{name}_token_id", len(words)) for name in ("bos", "eos"))
    turn = _token(metadata, "eot_token_id", len(words))
    facts: dict[str, Any] = {
        "eos": sorted({number for number in (eos, turn) if number is not None}),
        "bos": bos,
        "add_bos": bos is not None and metadata.get(f"{_KEY}add_bos_token") is True,
    }
    template = metadata.get("tokenizer.chat_template")
    if isinstance(template, str):
        named = {"bos_token": bos, "eos_token": eos}
        names = {name: words[number] for name, number in named.items() if number is not None}
        try:
            facts["chat"] = chat_pieces(template, names)
        except ImportFailure as error:
            say(shown(f"Its chat template is left out: {error}."))
    return facts


def _token(metadata: Mapping[str, Value], name: str, count: int) -> int | None:
    found = metadata.get(f"{_KEY}{name}")
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < count:
        raise ImportFailure(shown(f"{_KEY}{name} is {found!r}, none of the file's {count} tokens."))
    return found


def _texts(metadata: Mapping[str, Value], name: str) -> list[str]:
    found = metadata.get(f"{_KEY}{name}")
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ImportFailure(f"{_KEY}{name} is no array of strings, which a vocabulary needs.")
    return found


def _types(metadata: Mapping[str, Value], count: int) -> list[int]:
    found = metadata.get(f"{_KEY}token_type")
    numbers = found if isinstance(found, list) else getattr(found, "tolist", list)()
    if found is not None and (not isinstance(numbers, list) or len(numbers) != count):
        raise ImportFailure(f"{_KEY}token_type does not tell the types of all {count} tokens.")
    return numbers


def _encoded(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode(errors="replace")
