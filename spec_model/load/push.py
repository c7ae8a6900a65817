"""The scalars that a kernel's GLSL names: they are push constants without an entry in `push`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from spec_model.spec import Arg, ArgType

_JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
_STATEMENTS = ("return", "else", "case")  # words that a use may follow
_SCALARS = (ArgType.INT, ArgType.FLOAT, ArgType.NUMBER, ArgType.BOOL)


def pushable_args(args: Iterable[Arg]) -> frozenset[str]:
    """The arguments whose value can be a push constant."""
    return frozenset(
        arg.name
        for arg in args
        if arg.type in _SCALARS or (arg.type is ArgType.INTS and arg.length is not None)
    )


def used_scalars(glsl: Iterable[str], names: Collection[str]) -> frozenset[str]:
    """Those of the names that the texts (templates, params) use as variables. A text that declares
    a name has its own variable.
    """
    found: set[str] = set()
    for text in glsl:
        code = _COMMENT.sub(" ", _JINJA.sub(_placeholder, text))
        words = set(_WORD.findall(code)) & set(names)
        found |= {name for name in words if not _declares(code, name)}
    return frozenset(found)


def _placeholder(match: re.Match[str]) -> str:
    return "SUBSTITUTED " if match[0].startswith("{{") else " "


def _declares(code: str, name: str) -> bool:
    """Whether a text declares a variable or a parameter: `int name`, `int a, name`."""
    types = re.findall(rf"([A-Za-z_]\w*)\s+{name}\b", code)
    if any(word not in _STATEMENTS for word in types):
        return True
    return re.search(rf"[A-Za-z_]\w*\s+\w+[^;(){{}}]*,\s*{name}\s*[;,=\[]", code) is not None


def texts_in(params: object) -> Iterator[str]:
    """The texts in the values of a template's params."""
    if isinstance(params, str):
        yield params
    elif isinstance(params, Mapping):
        for value in params.values():
            yield from texts_in(value)
    elif isinstance(params, Iterable):
        for value in params:
            yield from texts_in(value)
