"""Vocabularies of GGUF files: converted, omitted or refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from spirloom.errors import ImportFailure
from spirloom.gguf.tokenizer import attachments_of

PIECES = ["<unk>", "<s>", "a", "b", "ab", "ba", "aba"]


def metadata(**changed: Any) -> dict[str, Any]:
    """Metadata of a small SentencePiece vocabulary. None removes a key."""
    values = {
        "model": "llama",
        "tokens": PIECES,
        "scores": np.array([0, 0, -4, -5, -1, -2, -3], np.float32),
        "token_type": np.array([2, 3, 1, 1, 1, 1, 1], np.int32),
        "bos_token_id": 1,
        "eos_token_id": 1,
        **changed,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in values.items() if value is not None}


def silent(line: str) -> None:
    pytest.fail(line)


def tokenizer(**changed: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        attachments_of(metadata(**changed), silent)["tokenizer.json"]
    )
    return found


def facts(**changed: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        attachments_of(metadata(**changed), silent)["language_model.json"]
    )
    return found


def test_pieces_merge_in_the_order_of_their_scores() -> None:
    merges = [["a", "b"], ["b", "a"], ["a", "ba"], ["ab", "a"]]
    assert tokenizer()["model"]["merges"] == merges


def test_control_tokens_and_the_unknown_one_are_special() -> None:
    added = tokenizer(token_type=np.array([2, 3, 4, 1, 1, 1, 1], np.int32))["added_tokens"]
    assert [(each["content"], each["special"]) for each in added] == [
        ("<unk>", True), ("<s>", True), ("a", False)]  # fmt: skip


def test_texts_begin_with_a_space_unless_told() -> None:
    prepended = {"type": "Prepend", "prepend": "▁"}
    assert prepended in tokenizer()["normalizer"]["normalizers"]
    assert prepended not in tokenizer(add_space_prefix=False)["normalizer"]["normalizers"]


@pytest.mark.parametrize(("add_bos_token", "adds"), [(None, True), (True, True), (False, False)])
def test_texts_begin_with_bos_unless_disabled(add_bos_token: bool | None, adds: bool) -> None:
    assert facts(add_bos_token=add_bos_token)["add_bos"] is adds
    bytes_ = {"model": "gpt2", "merges": ["a b"], "scores": None}
    assert facts(add_bos_token=add_bos_token, **bytes_)["add_bos"] is (add_bos_token is True)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"model": "t5"}, "its kind 't5' is not 'gpt2' or 'llama'"),
        ({"model": 7}, "its kind 7 is not"),
        ({"model": "gpt2", "pre": "smollm"}, "its pre-tokenizer 'smollm' is not one of: 'gpt-2'"),
        ({"precompiled_charsmap": np.ones(3, np.uint8)}, "it replaces characters"),
        ({"remove_extra_whitespaces": True}, "it removes spaces"),
    ],
)
def test_other_vocabularies_are_left_out(changed: dict[str, Any], reason: str) -> None:
    said: list[str] = []
    assert attachments_of(metadata(**changed), said.append) == {}
    (line,) = said
    assert line.startswith(f"The vocabulary is omitted: {reason}")
    assert line.endswith("Pass a tokenizer.json at run time.")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tokens": "ab"}, "tokenizer.ggml.tokens is not an array of strings"),
        ({"scores": None}, "tokenizer.ggml.scores is missing"),
        ({"scores": np.zeros(3, np.float32)}, "one number for each of the 7 tokens"),
        ({"scores": ["a"] * 7}, "one number for each of the 7 tokens"),
        ({"token_type": np.zeros(3, np.int32)}, "one number for each of the 7 tokens"),
        ({"token_type": 5}, "one number for each of the 7 tokens"),
        ({"tokens": [*PIECES[:-1], "a" * 300]}, "A SentencePiece token has 300 characters"),
        ({"bos_token_id": 7}, "tokenizer.ggml.bos_token_id is 7, which is not in 0"),
    ],
)
def test_damaged_vocabularies_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ImportFailure, match=message):
        attachments_of(metadata(**changed), silent)
