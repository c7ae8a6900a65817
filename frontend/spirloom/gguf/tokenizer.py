"""Converts the vocabulary of a GGUF file (byte-level BPE or SentencePiece) to tokenizer.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.family.text_metadata import (
    TEXT_METADATA,
    TOKENIZER,
    encode_json,
    encode_text_metadata,
)
from spirloom.gguf.file import Value
from spirloom.ir import Array
from spirloom.terminal import shown

KEY = "tokenizer.ggml."
# Values of tokenizer.ggml.token_type.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The texts and types of tokens, by token id."""

    texts: list[str]
    types: list[int]

    def ids(self) -> dict[str, int]:
        """The token ids by text, including added tokens, whose ids tokenizers ignores otherwise."""
        return {text: token for token, text in enumerate(self.texts)}

    def added(self) -> list[dict[str, Any]]:
        """`added_tokens` of tokenizer.json, which are matched before the model's tokens."""
        return [
            {
                "id": token, "content": text, "single_word": False, "lstrip": False,
                "rstrip": False, "normalized": False, "special": kind != USER_DEFINED,
            }
            for token, (text, kind) in enumerate(zip(self.texts, self.types, strict=True))
            if kind in (UNKNOWN, CONTROL, USER_DEFINED)
        ]  # fmt: skip


def read_vocabulary(metadata: Mapping[str, Value]) -> Vocabulary:
    """Reads the tokens. Raises ImportFailure for an invalid vocabulary."""
    found = texts(metadata, "tokens")
    types = array(metadata, "token_type", len(found), "iu")
    return Vocabulary(found, [NORMAL] * len(found) if types is None else types.tolist())


def texts(metadata: Mapping[str, Value], name: str) -> list[str]:
    """An array of strings. Raises ImportFailure."""
    found = metadata.get(f"{KEY}{name}")
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ImportFailure(f"{KEY}{name} is not an array of strings.")
    return found


def array(metadata: Mapping[str, Value], name: str, count: int, kinds: str) -> Array | None:
    """`count` values of these NumPy kinds; None if the key is absent. Raises ImportFailure."""
    found = metadata.get(f"{KEY}{name}")
    if found is None:
        return None
    values = np.asarray(found)
    if values.shape != (count,) or (values.dtype.kind not in kinds and count):
        raise ImportFailure(f"{KEY}{name} does not have one number for each of the {count} tokens.")
    return values


# Pre-tokenizer patterns by `tokenizer.ggml.pre`; None: the default of ByteLevel.
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_PATTERNS = {"gpt-2": None, "llama-bpe": _LLAMA3, "qwen2": _QWEN}


def byte_level_unsupported(metadata: Mapping[str, Value]) -> str | None:
    """The reason why a byte-level vocabulary is not supported; None: it is."""
    pre = metadata.get(f"{KEY}pre", "gpt-2")
    if isinstance(pre, str) and pre in _PATTERNS:
        return None
    return f"its pre-tokenizer {pre!r} is not one of: {', '.join(map(repr, _PATTERNS))}"


def byte_level_tokenizer(metadata: Mapping[str, Value], vocabulary: Vocabulary) -> dict[str, Any]:
    """The tokenizer.json of a byte-level BPE vocabulary. Raises ImportFailure."""
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
            "ignore_merges": pre == "llama-bpe", "vocab": vocabulary.ids(),
            "merges": texts(metadata, "merges"),
        },
    }  # fmt: skip


_SPACE = "▁"
_MAX_PIECE = 256  # characters of a merged piece; SentencePiece's default maximum is 16


def sentencepiece_unsupported(metadata: Mapping[str, Value]) -> str | None:
    """The reason why a SentencePiece vocabulary is not supported; None: it is."""
    charsmap = metadata.get(f"{KEY}precompiled_charsmap")
    if charsmap is not None and len(charsmap):  # type: ignore[arg-type]
        return "it replaces characters (precompiled_charsmap)"
    if metadata.get(f"{KEY}remove_extra_whitespaces", False) is not False:
        return "it removes spaces (remove_extra_whitespaces)"
    return None


def sentencepiece_tokenizer(
    metadata: Mapping[str, Value], vocabulary: Vocabulary
) -> dict[str, Any]:
    """The tokenizer.json of a SentencePiece vocabulary. A space is prepended to each section of a
    text between added tokens, as in llama.cpp. Raises ImportFailure."""
    scores = array(metadata, "scores", len(vocabulary.texts), "f")
    if scores is None:
        raise ImportFailure(f"{KEY}scores is missing, which a SentencePiece vocabulary requires.")
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
            "byte_fallback": True, "ignore_merges": False, "vocab": vocabulary.ids(),
            "merges": _merges(vocabulary, scores.tolist()),
        },
    }  # fmt: skip


def _merges(vocabulary: Vocabulary, scores: list[float]) -> list[list[str]]:
    """All pairs of pieces whose concatenation is a piece, by descending score of that piece: the
    order in which SentencePiece merges."""
    score_of = {
        text: score
        for text, kind, score in zip(vocabulary.texts, vocabulary.types, scores, strict=True)
        if kind == NORMAL
    }
    merges: list[list[str]] = []
    for piece in sorted(score_of, key=lambda text: -score_of[text]):
        if len(piece) > _MAX_PIECE:
            raise ImportFailure(
                f"A SentencePiece token has {len(piece)} characters; the maximum is {_MAX_PIECE}."
            )
        splits = ((piece[:i], piece[i:]) for i in range(1, len(piece)))
        merges += ([a, b] for a, b in splits if a in score_of and b in score_of)
    return merges


class _Kind(NamedTuple):
    """A kind of vocabulary. `unsupported` returns the reason why a vocabulary cannot be converted,
    if any; `adds_bos`: a text starts with BOS, by default."""

    unsupported: Callable[[Mapping[str, Value]], str | None]
    tokenizer: Callable[[Mapping[str, Value], Vocabulary], dict[str, Any]]
    adds_bos: bool


# By `tokenizer.ggml.model`.
_KINDS = {
    "gpt2": _Kind(byte_level_unsupported, byte_level_tokenizer, adds_bos=False),
    "llama": _Kind(sentencepiece_unsupported, sentencepiece_tokenizer, adds_bos=True),
}


def attachments_of(metadata: Mapping[str, Value], log: Callable[[str], None]) -> dict[str, bytes]:
    """TOKENIZER and TEXT_METADATA. Empty for a file without a vocabulary, or with an unsupported
    one; `log` then receives the reason. Raises ImportFailure for a damaged vocabulary.
    """
    name = metadata.get(f"{KEY}model")
    if name is None:
        return {}
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        reason: str | None = f"its kind {name!r} is not {' or '.join(map(repr, _KINDS))}"
    else:
        reason = kind.unsupported(metadata)
    if kind is None or reason is not None:
        log(shown(f"The vocabulary is omitted: {reason}. Pass a tokenizer.json at run time."))
        return {}
    vocabulary = read_vocabulary(metadata)
    return {
        TOKENIZER: encode_json(kind.tokenizer(metadata, vocabulary)),
        TEXT_METADATA: _text_metadata(metadata, vocabulary.texts, kind.adds_bos, log),
    }


def _text_metadata(
    metadata: Mapping[str, Value], vocabulary: list[str], adds_bos: bool, log: Callable[[str], None]
) -> bytes:
    bos, eos = (_token(metadata, f"{name}_token_id", len(vocabulary)) for name in ("bos", "eos"))
    end_of_turn = _token(metadata, "eot_token_id", len(vocabulary))
    template = metadata.get("tokenizer.chat_template")
    special = {"bos_token": bos, "eos_token": eos}
    return encode_text_metadata(
        eos={token for token in (eos, end_of_turn) if token is not None},
        bos=bos,
        add_bos=bos is not None and metadata.get(f"{KEY}add_bos_token", adds_bos) is True,
        chat_template=template if isinstance(template, str) else None,
        special_tokens={key: vocabulary[t] for key, t in special.items() if t is not None},
        log=log,
    )


def _token(metadata: Mapping[str, Value], name: str, count: int) -> int | None:
    found = metadata.get(f"{KEY}{name}")
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < count:
        raise ImportFailure(shown(f"{KEY}{name} is {found!r}, which is not in 0 … {count - 1}."))
    return found
