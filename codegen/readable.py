"""A shader as a person would write it: without `#line` and without what main() does not use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(
    r'^[ \t]*#(?:line \d+ ".*"|extension GL_GOOGLE_cpp_style_line_directive : require)\n',
    re.MULTILINE,
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
# A comment, a directive with its continued lines, or a character that ends or nests declarations.
_TOKEN = re.compile(r"//[^\n]*\n?|/\*.*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*\n|[{}();]", re.M | re.S)
_DEFINE = re.compile(r"[ \t]*#define[ \t]+(\w+)")
_FUNCTION = re.compile(r"\w+\s+(\w+)\s*\([^;]*\)\s*\{")
_BLOCK = re.compile(r"\blayout\b[^{]*\b(?:uniform|buffer)\b[^{]*\{")
_INTERFACE = re.compile(r"layout\((?:constant_id|local_size|push_constant)")
_VARIABLE = re.compile(r"\w+\s+\w+\s*=")  # initialized when the shader starts: it is code
_STRUCT = re.compile(r"\s*struct\s+(\w+)\s*\{")
_DECLARED = re.compile(r"(\w+)\s*(?:\[[^;=]*?\])*\s*(?:=[^;]*?)?(?=[,;]|\Z)")


@dataclass(frozen=True, slots=True)
class _Item:
    """A directive or a declaration at the top level, with the comment above it."""

    text: str
    names: frozenset[str]  # declared names; empty: it is always kept
    uses: frozenset[str]


def readable(glsl: str) -> str:
    """The GLSL without `#line` directives and without declarations that main() does not reach.

    Functions are found by name: all overloads of a function that is called remain. So do push
    constants and specialization constants, which are the kernel's interface.
    """
    items = list(_items(_LINE.sub("", glsl)))
    reached = {"main"}.union(*(item.uses for item in items if not item.names))
    size = 0
    while size != len(reached):
        size = len(reached)
        reached.update(*(item.uses for item in items if item.names & reached))
    kept = [item.text for item in items if not item.names or item.names & reached]
    return _spaced("".join(map(_separated, kept)))


def _separated(item: str) -> str:
    """The item, between blank lines if it is commented or a body of several lines."""
    text = item.strip("\n") + "\n"
    is_long = text.startswith(("//", "/*")) or text.count("\n") > 1
    before = "\n" if is_long or item.startswith("\n") else ""
    return f"{before}{text}" + ("\n" if is_long else "")


def _items(text: str) -> Iterator[_Item]:
    start, depth, parentheses = 0, 0, 0
    for token in _TOKEN.finditer(text):
        symbol = token[0]
        if symbol in "()":
            parentheses += 1 if symbol == "(" else -1
        elif symbol in "{}":
            depth += 1 if symbol == "{" else -1
        is_directive = symbol.lstrip().startswith("#")
        is_body = symbol == "}" and _FUNCTION.match(_code(text[start : token.end()]))
        ends = is_directive or is_body or (symbol == ";" and parentheses == 0)
        if ends and depth == 0:
            end = token.end()
            if not is_directive:
                rest = re.compile(r"[ \t]*(?://[^\n]*)?\n?").match(text, end)
                end = rest.end() if rest else end
            yield _item(text[start:end])
            start = end
    if text[start:].strip():
        yield _Item(text[start:], frozenset(), frozenset())


def _code(text: str) -> str:
    return _COMMENT.sub(" ", text).strip()


def _item(text: str) -> _Item:
    code = _code(text)
    names = frozenset(_names(code))
    return _Item(text, names, frozenset(_WORD.findall(code)) - names)


def _names(code: str) -> Iterator[str]:
    """The names that a directive or a declaration introduces."""
    if code.startswith("#"):
        if define := _DEFINE.match(code):
            yield define[1]
    elif struct := _STRUCT.match(code):
        yield struct[1]
    elif function := _FUNCTION.match(code):
        yield function[1]
    elif _BLOCK.match(code) and not _INTERFACE.match(code):
        _, _, members = code.partition("{")
        yield from _DECLARED.findall(members.rpartition("}")[0])
    elif not (_INTERFACE.match(code) or _VARIABLE.match(code)):
        for declarator in _without_nested(code).rstrip(";").split(","):
            if words := _WORD.findall(declarator.partition("=")[0]):
                yield words[-1]


def _without_nested(code: str) -> str:
    """The code without the text in parentheses, brackets and braces."""
    while True:
        code, count = re.subn(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "", code)
        if not count:
            return code


def _spaced(text: str) -> str:
    """At most one blank line in a row, and none at the start and end of blocks."""
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    text = re.sub(r"(^#extension .*\n)(?!#extension)", r"\1\n", text, flags=re.MULTILINE)
    text = re.sub(r"\n{3,}", "\n\n", text)
    text = re.sub(r"\{\n\n+", "{\n", text)
    return re.sub(r"\n\n+([ \t]*\})", r"\n\1", text).strip("\n") + "\n"
