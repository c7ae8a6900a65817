"""Attachments of a graph file imported from a Hugging Face directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from spirloom.errors import ImportFailure
from spirloom.family.text_metadata import TEXT_METADATA, TOKENIZER
from spirloom.hf.text_metadata import attachments_of

from tests.frontend.test_chat_templates import LLAMA3

TOKENS: dict[str, Any] = {
    "added_tokens": [{"id": 7, "content": "<s>"}, {"id": 8, "content": "</s>"}],
    "post_processor": {
        "type": "Sequence",
        "processors": [
            {"type": "ByteLevel"},
            {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}]},
        ],
    },
}
SETTINGS: dict[str, Any] = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": None}


def facts(folder: Path, said: list[str] | None = None, **files: Any) -> dict[str, Any]:
    """The text metadata of a directory with these files, given by their names without .json."""
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    heard: list[str] = []
    found = attachments_of(folder, heard.append)
    if said is None:
        assert heard == []
    else:
        said += heard
    result: dict[str, Any] = json.loads(found[TEXT_METADATA])
    return result


def test_the_tokenizer_goes_along_as_it_is(tmp_path: Path) -> None:
    text = json.dumps(TOKENS, indent=3)
    (tmp_path / "tokenizer.json").write_text(text)
    assert attachments_of(tmp_path, print)[TOKENIZER] == text.encode()


def test_all_that_ends_a_text_does(tmp_path: Path) -> None:
    files: dict[str, Any] = {
        "config": {"eos_token_id": 3, "bos_token_id": 1},
        "generation_config": {"eos_token_id": [5, 3]},
        "tokenizer_config": SETTINGS,
        "tokenizer": TOKENS,
    }
    assert facts(tmp_path, **files) == {"eos": [3, 5, 8], "bos": 7, "add_bos": True}


def test_settings_say_whether_a_text_begins_with_bos(tmp_path: Path) -> None:
    settings = {**SETTINGS, "add_bos_token": False}
    assert facts(tmp_path, tokenizer=TOKENS, tokenizer_config=settings)["add_bos"] is False
    settings["add_bos_token"] = True
    assert facts(tmp_path, tokenizer_config=settings)["add_bos"] is True
    assert facts(tmp_path, tokenizer={**TOKENS, "post_processor": None}, tokenizer_config={}) == {
        "eos": [], "bos": None, "add_bos": False,
    }  # fmt: skip


def test_the_template_is_expanded(tmp_path: Path) -> None:
    settings = {**SETTINGS, "chat_template": LLAMA3}
    chat = facts(tmp_path, tokenizer=TOKENS, tokenizer_config=settings)["chat"]
    assert chat["beginning"].startswith("<s><|start_header_id|>system")
    named = [{"name": "tools", "template": "no"}, {"name": "default", "template": LLAMA3}]
    assert facts(tmp_path, tokenizer_config={**settings, "chat_template": named})["chat"] == chat
    (tmp_path / "chat_template.jinja").write_text("{{ 1 // 0 }}")
    said: list[str] = []
    assert "chat" not in facts(tmp_path, said)
    assert said == ["The chat template is omitted: it fails (integer division or modulo by zero)."]


def test_a_folder_without_a_tokenizer_says_so(tmp_path: Path) -> None:
    said: list[str] = []
    assert facts(tmp_path, said, config={"eos_token_id": True}) == {
        "eos": [], "bos": None, "add_bos": False,
    }  # fmt: skip
    assert len(said) == 1 and "has no tokenizer.json" in said[0]


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100000, "\0"])
def test_damaged_files_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer_config.json").write_text(text)
    with pytest.raises(ImportFailure, match=r"tokenizer_config.json is not (valid|a) JSON"):
        attachments_of(tmp_path, print)


@pytest.mark.parametrize(
    "processor",
    [{"processors": 3}, [], {"type": "TemplateProcessing", "single": 5}, {"processors": [1]},
     {"type": "TemplateProcessing", "single": [3]}],
)  # fmt: skip
def test_odd_processors_do_no_harm(tmp_path: Path, processor: object) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps({"post_processor": processor}))
    assert json.loads(attachments_of(tmp_path, print)[TEXT_METADATA])["add_bos"] is False
