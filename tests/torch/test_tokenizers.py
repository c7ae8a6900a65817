"""`spirloom-llm --tokenize` and chat templates compared with Hugging Face's libraries."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import tokenizers
import transformers
from spirloom.family.chat_template import expand
from spirloom.family.text_metadata import TEXT_METADATA
from spirloom.hf.text_metadata import attachments_of

from tests.frontend.test_chat_templates import CHATML, LLAMA3, MISTRAL, TALK, TOKENS
from tests.llm import make_tokenizers

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/bin/spirloom-llm"


@pytest.mark.parametrize("name", sorted(make_tokenizers.trained_tokenizers()))
def test_random_texts(name: str, tmp_path: Path) -> None:
    tokenizer = make_tokenizers.trained_tokenizers()[name]
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    texts = make_tokenizers.random_texts(1500, seed=7)
    lines = "\n".join(map(json.dumps, texts))
    command = [str(PROGRAM), str(tmp_path / "tokenizer.json"), "--tokenize"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(texts)
    for row, wanted in zip(found, make_tokenizers.expected(tokenizer, texts), strict=True):
        assert (row["tokens"], row["text"]) == (wanted["tokens"], wanted["decoded"]), wanted


def stem(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", sorted(make_tokenizers.DIRECTORY.glob("*.json")), ids=stem)
def test_fixtures_equal_the_library(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(content["tokenizer"]))
    texts = [row["text"] for row in content["cases"]]
    assert make_tokenizers.expected(tokenizer, texts) == content["cases"]


def saved(directory: Path, template: str, adds_bos: bool) -> transformers.PreTrainedTokenizerFast:
    """A tokenizer with a chat template, with or without BOS at the start of texts."""
    trained = make_tokenizers.trained_tokenizers()["llama3"]
    if adds_bos:
        bos = trained.token_to_id("<s>")
        trained.post_processor = tokenizers.processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", bos)]
        )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=trained, **TOKENS)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(directory)
    return tokenizer


@pytest.mark.parametrize("template", [CHATML, LLAMA3, MISTRAL], ids=["chatml", "llama3", "mistral"])
@pytest.mark.parametrize("adds_bos", [True, False])
def test_chat_templates_equal_transformers(template: str, adds_bos: bool, tmp_path: Path) -> None:
    tokenizer = saved(tmp_path, template, adds_bos)
    attachments = attachments_of(tmp_path, pytest.fail)
    metadata = json.loads(attachments[TEXT_METADATA])
    assert metadata["eos"] == [tokenizer.eos_token_id]
    assert metadata["add_bos"] is adds_bos
    assert (tokenizer("the").input_ids[0] == metadata["bos"]) is adds_bos
    for messages in (TALK, TALK[1:], TALK[1:2]):
        if metadata["chat"]["system"] is None and messages is TALK:
            continue
        wanted = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, date_string="26 Jul 2024"
        )
        assert expand(metadata["chat"], messages, True) == wanted
