"""What GLSL may consist of."""

from __future__ import annotations

import re

from codegen.errors import Position, SpecError

_COMMENTS = re.compile(r"\{#.*?#\}|/\*.*?\*/|//[^\n]*", re.DOTALL)
_FOREIGN = re.compile(r"[^\x00-\x7f]")


def check_ascii(template: str, name: str) -> None:
    """Fails at the first character of a template that is no GLSL outside of comments."""
    code = _COMMENTS.sub(_blank, template)
    found = _FOREIGN.search(code)
    if found is None:
        return
    line = code.count("\n", 0, found.start()) + 1
    column = found.start() - code.rfind("\n", 0, found.start())
    message = f"Character '{found[0]}' is not part of GLSL; only comments may hold it."
    raise SpecError.at(Position(name, line, column), message)


def _blank(comment: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", comment[0])
