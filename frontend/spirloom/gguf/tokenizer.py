"""The vocabulary of a GGUF file (byte-level BPE or SentencePiece) as a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.gguf.file import Value
from spirloom.hf.chat_template import chat_pieces
from spirloom.hf.text_metadata import TEXT_METADATA, TOKENIZER
from spirloom.ir import Array
from spirloom.terminal import shown

KEY = "tokenizer.ggml."
# The numbers of tokenizer.ggml.token_type.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The texts of tokens by their numbers, and the type of each."""

    texts: list[str]
    types: list[int]

    def numbers(self) -> dict[str, int]:
        """Each text's number: those of added tokens too, which keep theirs only then."""
        return {text: number for number, text in enumerate(self.texts)}

    def added(self) -> list[dict[str, Any]]:
        """The tokens that texts are searched for first, as a tokenizer.json has them."""
        return [
            {
                "id": number, "content": text, "single_word": False, "lstrip": False,
                "rstrip": False, "normalized": False, "special": kind != USER_DEFINED,
            }
            for number, (text, kind) in enumerate(zip(self.texts, self.types, strict=True))
            if kind in (UNKNOWN, CONTROL, USER_DEFINED)
        ]  # fmt: skip


def read_vocabulary(metadata: Mapping[str, Value]) -> Vocabulary:
    """Raises ImportFailure for what is no vocabulary."""
    found = texts(metadata, "tokens")
    types = array(metadata, "token_type", len(found), "iu")
    return Vocabulary(found, [NORMAL] * len(found) if types is None else types.tolist())


def texts(metadata: Mapping[str, Value], name: str) -> list[str]:
    """An array of strings. Raises ImportFailure."""
    found = metadata.get(f"{KEY}{name}")
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ImportFailure(f"{KEY}{name} is no array of strings, which a vocabulary needs.")
    return found


def array(metadata: Mapping[str, Value], name: str, count: int, kinds: str) -> Array | None:
    """`count` numbers, of NumPy's kinds; None if the file has none. Raises ImportFailure."""
    found = metadata.get(f"{KEY}{name}")
    if found is None:
        return None
    numbers = np.asarray(found)
    if numbers.shape != (count,) or (numbers.dtype.kind not in kinds and count):
        raise ImportFailure(f"{KEY}{name} does not tell a number of each of the {count} tokens.")
    return numbers


# Which words `tokenizer.ggml.pre` splits a text into, before merges.
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_PATTERNS = {"gpt-2": None, "llama-bpe": _LLAMA3, "qwen2": _QWEN}


def byte_level_unsupported(metadata: Mapping[str, Value]) -> str | None:
    """What of such a vocabulary is not known."""
    pre = metadata.get(f"{KEY}pre", "gpt-2")
    if isinstance(pre, str) and pre in _PATTERNS:
        return None
    return f"whose words are split as {pre!r} does, not {', '.join(map(repr, _PATTERNS))}"


def byte_level_tokenizer(metadata: Mapping[str, Value], vocabulary: Vocabulary) -> dict[str, Any]:
    """A tokenizer.json. Raises ImportFailure."""
    pre = str(metadata.get(f"{KEY}pre", "gpt-2"))
    level: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    pattern = _PATTERNS[pre]
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
             "invert": False}  # fmt: skip
    parts = [split, {**level, "use_regex": False}]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": vocabulary.added(),
        "normalizer": {"type": "NFC"} if pre == "qwen2" else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": parts} if pattern else
                         {**level, "use_regex": True},
        "post_processor": None, "decoder": {**level, "use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "ignore_merges": pre == "llama-bpe", "vocab": vocabulary.numbers(),
            "merges": texts(metadata, "merges"),
        },
    }  # fmt: skip


_SPACE = "▁"
_LONGEST = 256  # of a piece that is merged; SentencePiece makes none beyond 16 unless told


def sentencepiece_unsupported(metadata: Mapping[str, Value]) -> str | None:
    """What of such a vocabulary is not known."""
    charsmap = metadata.get(f"{KEY}precompiled_charsmap")
    if charsmap is not None and len(charsmap):  # type: ignore[arg-type]
        return "which replaces characters"
    if metadata.get(f"{KEY}remove_extra_whitespaces", False) is not False:
        return "which takes spaces away"
    return None


def sentencepiece_tokenizer(
    metadata: Mapping[str, Value], vocabulary: Vocabulary
) -> dict[str, Any]:
    """A tokenizer.json, where every part of a text between added tokens gets a space before it, as
    in llama.cpp. Raises ImportFailure."""
    scores = array(metadata, "scores", len(vocabulary.texts), "f")
    if scores is None:
        raise ImportFailure(f"{KEY}scores is missing, which a vocabulary of pieces needs.")
    prefixed = metadata.get(f"{KEY}add_space_prefix", True) is not False
    spaced = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
    unspaced = {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    before = [{"type": "Prepend", "prepend": _SPACE}] if prefixed else []
    after = [strip] if prefixed else []
    unknowns = [
        t for t, kind in zip(vocabulary.texts, vocabulary.types, strict=True) if kind == UNKNOWN
    ]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": vocabulary.added(),
        "normalizer": {"type": "Sequence", "normalizers": [*before, spaced]},
        "pre_tokenizer": None, "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [unspaced, {"type": "ByteFallback"}, {"type": "Fuse"}, *after],
        },
        "model": {
            "type": "BPE", "dropout": None, "unk_token": unknowns[0] if unknowns else None,
            "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
            "byte_fallback": True, "ignore_merges": False, "vocab": vocabulary.numbers(),
            "merges": _merges(vocabulary, scores.tolist()),
        },
    }  # fmt: skip


def _merges(vocabulary: Vocabulary, scores: list[float]) -> list[list[str]]:
    """Every two pieces that are one together, in the order of that one's score: SentencePiece
    merges first what scores most."""
    of_pieces = {
        text: score
        for text, kind, score in zip(vocabulary.texts, vocabulary.types, scores, strict=True)
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


class _Kind(NamedTuple):
    """`unknown` tells what of a vocabulary is not known, if anything; `adds_bos`, whether texts
    begin with the first token unless the file tells."""

    unknown: Callable[[Mapping[str, Value]], str | None]
    tokenizer: Callable[[Mapping[str, Value], Vocabulary], dict[str, Any]]
    adds_bos: bool


# By `tokenizer.ggml.model`.
_KINDS = {
    "gpt2": _Kind(byte_level_unsupported, byte_level_tokenizer, adds_bos=False),
    "llama": _Kind(sentencepiece_unsupported, sentencepiece_tokenizer, adds_bos=True),
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
    vocabulary = read_vocabulary(metadata)
    facts = _facts(metadata, vocabulary.texts, kind.adds_bos, say)
    return {
        TOKENIZER: _encoded(kind.tokenizer(metadata, vocabulary)),
        TEXT_METADATA: _encoded(facts),
    }


def _facts(
    metadata: Mapping[str, Value], vocabulary: list[str], adds_bos: bool, say: Callable[[str], None]
) -> dict[str, Any]:
    bos, eos = (_token(metadata, f"{name}_token_id", len(vocabulary)) for name in ("bos", "eos"))
    turn = _token(metadata, "eot_token_id", len(vocabulary))
    facts: dict[str, Any] = {
        "eos": sorted({number for number in (eos, turn) if number is not None}),
        "bos": bos,
        "add_bos": bos is not None and metadata.get(f"{KEY}add_bos_token", adds_bos) is True,
    }
    template = metadata.get("tokenizer.chat_template")
    if isinstance(template, str):
        named = {"bos_token": bos, "eos_token": eos}
        names = {name: vocabulary[number] for name, number in named.items() if number is not None}
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
