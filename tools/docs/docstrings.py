"""Docstrings as reStructuredText, for autodoc.

The docstrings are plain text: names in backticks, indented code, and lists of arguments in two
columns (`name  description`). Fields of data classes and of typed dictionaries have comments.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

_FIELD = re.compile(r"^    ([a-z]\w*): ([^#=]+?)(?: = [^#]+?)?(?:  # (.*))?$")
_ROW = re.compile(r"^(\*{0,2}\w[\w.]*(?:, \w+)*) {2,}(\S.*)$")


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sphinx's event autodoc-process-docstring: modifies `lines`."""
    result: list[str] = []
    previous = ""
    mode = ""  # "code" or "list" while inside such a block
    for i, line in enumerate(lines):
        indented = line.startswith("    ")
        after_blank = not previous.strip()
        if mode == "code" and line.strip() and not indented:
            mode = ""
        if mode == "list" and not (indented or _ROW.match(line)):
            mode = ""
            result.append("")
        if indented and after_blank and mode == "" and i > 0:
            result += [".. code-block:: python", ""]
            mode = "code"
        elif mode != "code" and (row := _ROW.match(line)):
            if mode != "list":
                result.append("")
            mode = "list"
            result += [f"``{row[1]}``", f"    {_escaped(row[2])}"]
            previous = line
            continue
        if mode == "code":
            result.append(line)
        elif mode == "list":
            result.append(f"    {_escaped(line.strip())}")
        else:
            result.append(_escaped(line))
        previous = line
    lines[:] = [*result, ""]
    if what == "class":
        for field, annotation, comment in fields(obj):
            text = f": {_escaped(comment)}" if comment else ""
            lines.append(f"- ``{field}`` (``{annotation}``){text}")
        lines.append("")


def fields(obj: type) -> Iterator[tuple[str, str, str]]:
    """Name, type and comment of the fields in a class's body; none without any comment."""
    try:
        source = inspect.getsource(obj).split("\n")[1:]
    except (OSError, TypeError):
        return
    found: list[tuple[str, str, str]] = []
    comment = ""
    for line in source:
        text = line.strip()
        if text.startswith("#"):
            continues = found and not comment and line.startswith(" " * 12)
            if continues:  # of a comment at the end of the line before
                name, annotation, begun = found[-1]
                found[-1] = (name, annotation, f"{begun} {text[1:].strip()}")
            else:
                comment = f"{comment} {text[1:].strip()}".strip()
        elif field := _FIELD.match(line):
            said = field[3] or comment
            found.append((field[1], field[2].strip(), said))
            comment = ""
        else:
            if text.startswith(("def ", "@")):
                break
            comment = ""
    if any(comment for _, _, comment in found):
        yield from found


def _escaped(line: str) -> str:
    """Stars and trailing underscores outside backticks are text."""
    pieces = re.split(r"(`+[^`]*`+)", line)
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"([*|])", r"\\\1", pieces[i])
        pieces[i] = re.sub(r"(\w)_(?=\W|$)", r"\1\\_", pieces[i])
    return "".join(pieces)
