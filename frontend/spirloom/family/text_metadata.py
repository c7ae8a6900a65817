"""Attachments of a language model's graph file: the tokenizer and the text metadata."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from spirloom.errors import ImportFailure
from spirloom.family.chat_template import chat_pieces
from spirloom.terminal import shown

TOKENIZER = "tokenizer.json"
TEXT_METADATA = "language_model.json"


def encode_text_metadata(
    eos: Collection[int],
    bos: int | None,
    add_bos: bool,
    chat_template: str | None,
    special_tokens: Mapping[str, str],
    log: Callable[[str], None],
) -> bytes:
    """The content of TEXT_METADATA. `special_tokens` are the names that the chat template may use,
    such as bos_token. A chat template that cannot be converted is omitted, with a line to `log`.
    """
    metadata: dict[str, Any] = {"eos": sorted(eos), "bos": bos, "add_bos": add_bos}
    if chat_template is not None:
        try:
            metadata["chat"] = chat_pieces(chat_template, special_tokens)
        except ImportFailure as error:
            log(shown(f"The chat template is omitted: {error}."))
    return encode_json(metadata)


def encode_json(content: Mapping[str, Any]) -> bytes:
    """JSON as UTF-8; unpaired surrogates become question marks."""
    return json.dumps(content, ensure_ascii=False).encode(errors="replace")
