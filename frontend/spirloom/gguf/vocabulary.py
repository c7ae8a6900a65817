"""The vocabulary of a GGUF file as a tokenizer.json, and what ends and begins its texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from spirloom.errors import ImportFailure
from spirloom.gguf import byte_level, sentence_pieces
from spirloom.gguf.cursor import Value
from spirloom.gguf.words import KEY, Words, read_words
from spirloom.hf.chat import chat_pieces
from spirloom.hf.language import FACTS, TOKENIZER
from spirloom.text import shown


class _Kind(NamedTuple):
    """`unknown` tells what of a vocabulary is not known, if anything; `adds_bos`, whether texts
    begin with the first token unless the file tells."""

    unknown: Callable[[Mapping[str, Value]], str | None]
    tokenizer: Callable[[Mapping[str, Value], Words], dict[str, Any]]
    adds_bos: bool


# By `tokenizer.ggml.model`.
_KINDS = {
    "gpt2": _Kind(byte_level.unknown, byte_level.tokenizer, adds_bos=False),
    "llama": _Kind(sentence_pieces.unknown, sentence_pieces.tokenizer, adds_bos=True),
}


def attachments_of(metadata: Mapping[str, Value], say: Callable[[str], None]) -> dict[str, bytes]:
    """TOKENIZER and FACTS; nothing of a file without a vocabulary, or with one of another kind, of
    which `say` hears a line. Raises ImportFailure for one that is damaged.
    """
    name = metadata.get(f"{KEY}model")
    if name is None:
        return {}
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        unknown: str | None = f"of kind {name!r}, not {' or '.join(map(repr, _KINDS))}"
    else:
        unknown = kind.unknown(metadata)
    if kind is None or unknown is not None:
        say(shown(f"Its vocabulary, {unknown}, is left out. Give a tokenizer.json when it runs."))
        return {}
    words = read_words(metadata)
    facts = _facts(metadata, words.texts, kind.adds_bos, say)
    return {TOKENIZER: _encoded(kind.tokenizer(metadata, words)), FACTS: _encoded(facts)}


def _facts(
    metadata: Mapping[str, Value], words: list[str], adds_bos: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    bos, eos = (_token(metadata, f"{name}_token_id", len(words)) for name in ("bos", "eos"))
    turn = _token(metadata, "eot_token_id", len(words))
    facts: dict[str, Any] = {
        "eos": sorted({number for number in (eos, turn) if number is not None}),
        "bos": bos,
        "add_bos": bos is not None and metadata.get(f"{KEY}add_bos_token", adds_bos) is True,
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
    found = metadata.get(f"{KEY}{name}")
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < count:
        raise ImportFailure(shown(f"{KEY}{name} is {found!r}, none of the file's {count} tokens."))
    return found


def _encoded(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode(errors="replace")
