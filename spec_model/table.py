"""Tables of rows that C++ expands as macros: `MACRO(item, item, "text")`, each on one line."""

from __future__ import annotations

import re
from pathlib import Path

_ITEM = re.compile(r'\s*(?:"(?P<text>[^"]*)"|(?P<word>[^",]+?))\s*(?:,|$)')


def rows(file: str, macro: str) -> list[dict[str, str]]:
    """The rows of a table in this directory, by the names of columns in its comment, without the
    quotes of texts; `code` is the index of the row. ValueError for a row of another length."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    described = re.search(rf"^//   {macro}\(([^)]*)\)", text, re.MULTILINE)
    if described is None:
        raise ValueError(f"{file}: The comment does not list the columns of {macro}.")
    columns = re.findall(r"\w+", described[1])
    found: list[dict[str, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith(f"{macro}("):
            continue
        inner = line.removeprefix(f"{macro}(").removesuffix(")")
        items = [item["text"] or item["word"] or "" for item in _ITEM.finditer(inner)]
        if len(items) != len(columns) or not line.endswith(")"):
            message = f"The row has {len(items)} items; expected {len(columns)}."
            raise ValueError(f"{file}:{number}: {message}")
        found.append(dict(zip(columns, items, strict=True)) | {"code": str(len(found))})
    return found
