"""What goes with a language model's graph: its tokenizer, which tokens end a text, how it chats."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from codegen.regular_file import open_regular
from spirloom.errors import ImportFailure
from spirloom.hf.chat_template import chat_pieces
from spirloom.terminal import shown

TOKENIZER = "tokenizer.json"
TEXT_METADATA = "language_model.json"

_MAX_BYTES = 128 << 20


def attachments_of(folder: Path, say: Callable[[str], None]) -> dict[str, bytes]:
    """The attachments of a folder's graph file: TOKENIZER as it is, and FACTS.

    `say` hears what was left out, a line each. Raises ImportFailure for files that are no JSON.
    """
    found = {}
    tokenizer: Mapping[str, Any] = {}
    if (folder / TOKENIZER).exists():
        found[TOKENIZER] = _bytes(folder / TOKENIZER)
        tokenizer = _json(folder / TOKENIZER)
    else:
        say(f"{folder} has no {TOKENIZER}: its graph file takes and gives tokens by number alone.")
    config, generation, settings = (
        _json(folder / name)
        for name in ("config.json", "generation_config.json", "tokenizer_config.json")
    )
    names = special_tokens(settings)
    ids = _ids(tokenizer)
    bos = ids.get(names.get("bos_token", ""), config.get("bos_token_id"))
    template = _template(folder, settings)
    facts: dict[str, Any] = {
        "eos": sorted(_eos(config) | _eos(generation) | _of(ids, names.get("eos_token", ""))),
        "bos": bos if _is_id(bos) else None,
        "add_bos": _is_id(bos) and _adds_bos(settings, tokenizer, names),
    }
    if template is not None:
        try:
            facts["chat"] = chat_pieces(template, names)
        except ImportFailure as error:
            say(shown(f"The chat template of {folder} is left out: {error}."))
    text = json.dumps(facts, ensure_ascii=False)
    return {**found, TEXT_METADATA: text.encode(errors="replace")}


def special_tokens(settings: Mapping[str, Any]) -> dict[str, str]:
    """What tokenizer_config.json calls bos_token, eos_token and the like."""
    found = {}
    for key, value in settings.items():
        text = value.get("content") if isinstance(value, Mapping) else value
        if key.endswith("_token") and isinstance(text, str):
            found[key] = text
    return found


def _ids(tokenizer: Mapping[str, Any]) -> dict[str, int]:
    """The numbers of the tokens that are added to the vocabulary, by their text."""
    added = _items(tokenizer.get("added_tokens"))
    pairs = [(_member(token, "content"), _member(token, "id")) for token in added]
    return {text: number for text, number in pairs if isinstance(text, str) and _is_id(number)}


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _eos(config: Mapping[str, Any]) -> set[int]:
    given = config.get("eos_token_id")
    return {i for i in (given if isinstance(given, list) else [given]) if _is_id(i)}


def _of(ids: Mapping[str, int], name: str) -> set[int]:
    return {ids[name]} if name in ids else set()


def _adds_bos(
    settings: Mapping[str, Any], tokenizer: Mapping[str, Any], names: Mapping[str, str]
) -> bool:
    """Whether a text begins with it: what the settings say, or else the tokenizer does."""
    said = settings.get("add_bos_token")
    if isinstance(said, bool):
        return said
    processor = tokenizer.get("post_processor")
    for part in _items(_member(processor, "processors") or [processor]):
        if _member(part, "type") == "TemplateProcessing":
            first = next(iter(_items(_member(part, "single"))), None)
            special = _member(_member(first, "SpecialToken"), "id")
            return special is not None and special == names.get("bos_token")
    return False


def _member(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _template(folder: Path, settings: Mapping[str, Any]) -> str | None:
    """The Jinja text; of several the one that is called default."""
    path = folder / "chat_template.jinja"
    if path.exists():
        try:
            return _bytes(path).decode()
        except UnicodeDecodeError as error:
            raise ImportFailure(f"Cannot read {path}: {error}.") from error
    given = settings.get("chat_template")
    for item in _items(given):
        if _member(item, "name") == "default":
            given = _member(item, "template")
    return given if isinstance(given, str) else None


def _bytes(path: Path) -> bytes:
    try:
        with open_regular(path) as stream:
            data = stream.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ImportFailure(f"Cannot read {path}: {error.strerror}.") from error
    if len(data) > _MAX_BYTES:
        raise ImportFailure(f"{path} has more than {_MAX_BYTES} bytes.")
    return data


def _json(path: Path) -> Mapping[str, Any]:
    """The object in a file; an empty one where there is no file."""
    if not path.exists():
        return {}
    try:
        found = json.loads(_bytes(path))
    except (ValueError, RecursionError) as error:
        raise ImportFailure(f"{path} is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ImportFailure(f"{path} holds no JSON object.")
    return found
