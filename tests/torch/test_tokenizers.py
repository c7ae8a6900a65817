"""Tokenizers and chats against Hugging Face's own: random text by `spirloom-llm --tokenize`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import tokenizers
import transformers
from spirloom.hf.chat_template import expand
from spirloom.hf.text_metadata import TEXT_METADATA, attachments_of

from tests.frontend.test_chat_templates import CHATML, LLAMA3, MISTRAL, TALK, TOKENS
from tests.llm import make_tokenizers

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/bin/spirloom-llm"


@pytest.mark.parametrize("name", sorted(make_tokenizers.made()))
def test_random_texts(name: str, tmp_path: Path) -> None:
    tokenizer = make_tokenizers.made()[name]
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


@pytest.mark.parametrize("path", sorted(make_tokenizers.FOLDER.glob("*.json")), ids=stem)
def test_fixtures_are_what_the_library_makes(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(content["tokenizer"]))
    texts = [row["text"] for row in content["cases"]]
    assert make_tokenizers.expected(tokenizer, texts) == content["cases"]


def saved(folder: Path, template: str, begins: bool) -> transformers.PreTrainedTokenizerFast:
    """A tokenizer with a chat template, whose texts begin with bos_token or not."""
    made = make_tokenizers.made()["llama3"]
    if begins:
        bos = made.token_to_id("<s>")
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", bos)]
        )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, **TOKENS)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return tokenizer


@pytest.mark.parametrize("template", [CHATML, LLAMA3, MISTRAL], ids=["chatml", "llama3", "mistral"])
@pytest.mark.parametrize("begins", [True, False])
def test_chats_are_those_of_transformers(template: str, begins: bool, tmp_path: Path) -> None:
    tokenizer = saved(tmp_path, template, begins)
    attachments = attachments_of(tmp_path, pytest.fail)
    facts = json.loads(attachments[TEXT_METADATA])
    assert facts["eos"] == [tokenizer.eos_token_id]
    assert facts["add_bos"] is begins
    assert (tokenizer("the").input_ids[0] == facts["bos"]) is begins
    for messages in (TALK, TALK[1:], TALK[1:2]):
        if facts["chat"]["system"] is None and messages is TALK:
            continue
        wanted = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, date_string="26 Jul 2024"
        )
        assert expand(facts["chat"], messages, True) == wanted
