"""Vocabularies of GGUF files of the kind `llama`, against SentencePiece itself."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import gguf
import pytest
import sentencepiece
import tokenizers
import transformers
from gguf import GGMLQuantizationType as Type
from spirloom.gguf import import_gguf

from tests.llm.make_tokenizers import CORPUS, TEXTS, random_texts
from tests.torch.gguf_files import write
from tests.torch.test_gguf import SIZES, made


def trained(**more: Any) -> Any:
    """A small model as Llama's is made: bytes stand in for characters it does not have."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=written, model_type="bpe", vocab_size=420,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        character_coverage=0.98, split_digits=True, minloglevel=2, **more,
    )  # fmt: skip
    return sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())


def kind_of(model: Any, number: int) -> int:
    """tokenizer.ggml.token_type, as llama.cpp's converter tells it."""
    if model.is_unknown(number):
        return 2
    if model.is_control(number):
        return 3
    return 6 if model.is_byte(number) else 1


def carried(model: Any, path: Path, space_prefix: bool) -> dict[str, bytes]:
    """What an imported file with this vocabulary has."""
    numbers = range(model.get_piece_size())

    def vocabulary(writer: gguf.GGUFWriter) -> None:
        writer.add_tokenizer_model("llama")
        writer.add_tokenizer_pre("default")
        writer.add_token_list([model.id_to_piece(i) for i in numbers])
        writer.add_token_scores([model.get_score(i) for i in numbers])
        writer.add_token_types([kind_of(model, i) for i in numbers])
        writer.add_bos_token_id(model.bos_id())
        writer.add_eos_token_id(model.eos_id())
        writer.add_add_space_prefix(space_prefix)

    network = made(transformers.LlamaConfig(**{**SIZES, "vocab_size": len(numbers)}))
    write(network, path, Type.F32, vocabulary=vocabulary)
    return import_gguf(path)[0].attachments


@pytest.mark.parametrize("space_prefix", [True, False])
def test_tokens_are_those_of_the_library(tmp_path: Path, space_prefix: bool) -> None:
    model = trained(add_dummy_prefix=space_prefix)
    attachments = carried(model, tmp_path / "m.gguf", space_prefix)
    ours = tokenizers.Tokenizer.from_str(attachments["tokenizer.json"].decode())
    compared = 0
    for text in [*CORPUS, *TEXTS, *random_texts(600, seed=3)]:
        if any(special in text for special in ("<s>", "</s>", "<unk>", "\0")):
            continue
        tokens = ours.encode(text, add_special_tokens=False).ids
        assert tokens == model.encode(text), text
        assert ours.decode(tokens) == model.decode(tokens)
        compared += 1
    assert compared > 350
    begun = "<s>Hello"
    assert ours.encode(begun, add_special_tokens=False).ids == [1, *model.encode("Hello")]
    facts = json.loads(attachments["language_model.json"])
    assert (facts["bos"], facts["eos"], facts["add_bos"]) == (1, [2], True)
