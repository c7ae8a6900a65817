"""Text metadata of a Hugging Face directory: tokenizer, BOS and EOS tokens, chat template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeGuard

from spirloom.errors import ImportFailure
from spirloom.family.text_metadata import TEXT_METADATA, TOKENIZER, encode_text_metadata
from spirloom.hf.json_files import parse_object, read_bytes


def attachments_of(directory: Path, log: Callable[[str], None]) -> dict[str, bytes]:
    """The attachments of a directory's graph file: TOKENIZER, unchanged, and TEXT_METADATA.

    `log` receives a line for each that is omitted. Raises ImportFailure for invalid JSON files.
    """
    found = {}
    tokenizer: Mapping[str, Any] = {}
    if (directory / TOKENIZER).exists():
        found[TOKENIZER] = read_bytes(directory / TOKENIZER)
        tokenizer = _json(directory / TOKENIZER)
    else:
        log(f"{directory} has no {TOKENIZER}. The graph file accepts and returns token ids only.")
    config, generation, settings = (
        _json(directory / name)
        for name in ("config.json", "generation_config.json", "tokenizer_config.json")
    )
    names = special_tokens(settings)
    ids = _ids(tokenizer)
    bos = ids.get(names.get("bos_token", ""), config.get("bos_token_id"))
    metadata = encode_text_metadata(
        eos=_eos(config) | _eos(generation) | _id_set(ids, names.get("eos_token", "")),
        bos=bos if _is_id(bos) else None,
        add_bos=_is_id(bos) and _adds_bos(settings, tokenizer, names),
        chat_template=_template(directory, settings),
        special_tokens=names,
        log=log,
    )
    return {**found, TEXT_METADATA: metadata}


def special_tokens(settings: Mapping[str, Any]) -> dict[str, str]:
    """The special tokens of tokenizer_config.json, by their keys (bos_token, eos_token, …)."""
    found = {}
    for key, value in settings.items():
        text = value.get("content") if isinstance(value, Mapping) else value
        if key.endswith("_token") and isinstance(text, str):
            found[key] = text
    return found


def _ids(tokenizer: Mapping[str, Any]) -> dict[str, int]:
    """The ids of the added tokens, by their text."""
    added = _items(tokenizer.get("added_tokens"))
    pairs = [(_member(token, "content"), _member(token, "id")) for token in added]
    return {text: token for text, token in pairs if isinstance(text, str) and _is_id(token)}


def _is_id(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _eos(config: Mapping[str, Any]) -> set[int]:
    given = config.get("eos_token_id")
    return {i for i in (given if isinstance(given, list) else [given]) if _is_id(i)}


def _id_set(ids: Mapping[str, int], name: str) -> set[int]:
    return {ids[name]} if name in ids else set()


def _adds_bos(
    settings: Mapping[str, Any], tokenizer: Mapping[str, Any], names: Mapping[str, str]
) -> bool:
    """Whether a text starts with BOS, by tokenizer_config.json, otherwise by tokenizer.json."""
    stated = settings.get("add_bos_token")
    if isinstance(stated, bool):
        return stated
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


def _template(directory: Path, settings: Mapping[str, Any]) -> str | None:
    """The chat template in Jinja; of several, the one named `default`."""
    path = directory / "chat_template.jinja"
    if path.exists():
        try:
            return read_bytes(path).decode()
        except UnicodeDecodeError as error:
            raise ImportFailure(f"Cannot read {path}: {error}.") from error
    given = settings.get("chat_template")
    for item in _items(given):
        if _member(item, "name") == "default":
            given = _member(item, "template")
    return given if isinstance(given, str) else None


def _json(path: Path) -> Mapping[str, Any]:
    """The JSON object of a file; empty if the file does not exist."""
    return parse_object(read_bytes(path), str(path)) if path.exists() else {}
