"""SentencePiece vocabularies of GGUF files, compared with SentencePiece."""

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
from tests.torch.test_gguf import SIZES, random_model


def trained(**more: Any) -> Any:
    """A small model with byte fallback, as Llama's."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=written, model_type="bpe", vocab_size=420,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        character_coverage=0.98, split_digits=True, minloglevel=2, **more,
    )  # fmt: skip
    return sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())


def kind_of(model: Any, token: int) -> int:
    """tokenizer.ggml.token_type, as of llama.cpp's converter."""
    if model.is_unknown(token):
        return 2
    if model.is_control(token):
        return 3
    return 6 if model.is_byte(token) else 1


def imported_attachments(model: Any, path: Path, space_prefix: bool) -> dict[str, bytes]:
    """The attachments of an imported file with this vocabulary."""
    ids = range(model.get_piece_size())

    def vocabulary(writer: gguf.GGUFWriter) -> None:
        writer.add_tokenizer_model("llama")
        writer.add_tokenizer_pre("default")
        writer.add_token_list([model.id_to_piece(i) for i in ids])
        writer.add_token_scores([model.get_score(i) for i in ids])
        writer.add_token_types([kind_of(model, i) for i in ids])
        writer.add_bos_token_id(model.bos_id())
        writer.add_eos_token_id(model.eos_id())
        writer.add_add_space_prefix(space_prefix)

    network = random_model(transformers.LlamaConfig(**{**SIZES, "vocab_size": len(ids)}))
    write(network, path, Type.F32, vocabulary=vocabulary)
    return import_gguf(path)[0].attachments


@pytest.mark.parametrize("space_prefix", [True, False])
def test_tokens_equal_sentencepiece(tmp_path: Path, space_prefix: bool) -> None:
    model = trained(add_dummy_prefix=space_prefix)
    attachments = imported_attachments(model, tmp_path / "m.gguf", space_prefix)
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
    with_bos = "<s>Hello"
    assert ours.encode(with_bos, add_special_tokens=False).ids == [1, *model.encode("Hello")]
    found = json.loads(attachments["language_model.json"])
    assert (found["bos"], found["eos"], found["add_bos"]) == (1, [2], True)
