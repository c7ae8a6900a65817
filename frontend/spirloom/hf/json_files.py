"""JSON files of a Hugging Face model directory, of untrusted origin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spec_model.files import open_regular
from spirloom.errors import ImportFailure, reading

_MAX_BYTES = 128 << 20


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises ImportFailure if it is unreadable or too large."""
    with reading(path), open_regular(path) as stream:
        data = stream.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ImportFailure(f"{path} exceeds {_MAX_BYTES} bytes.")
    return data


def parse_object(data: bytes, name: str) -> Mapping[str, Any]:
    """A JSON object; messages call it `name`. Raises ImportFailure."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ImportFailure(f"{name} is not valid JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ImportFailure(f"{name} is not a JSON object.")
    return found
