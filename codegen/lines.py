"""A Jinja extension that writes `#line N "file"` where output and template lines diverge.

These are the start, and lines after block tags, multi-line comments and lines that begin with
`{{ … }}` (macros can return several lines). Bodies of macros and of block `set`, `call` and
`filter` have no directives: their text can be used inside a line.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from jinja2.ext import Extension
from jinja2.lexer import (
    TOKEN_ASSIGN,
    TOKEN_BLOCK_BEGIN,
    TOKEN_BLOCK_END,
    TOKEN_DATA,
    TOKEN_NAME,
    TOKEN_PIPE,
    TOKEN_VARIABLE_BEGIN,
    TOKEN_VARIABLE_END,
    Token,
    TokenStream,
)

_LINE_REST = re.compile(r"(?:[^\n]*\\\n)*[^\n]*(?<!\\)\n")
_CAPTURES = frozenset({"macro", "call", "filter", "set"})


class LineDirectives(Extension):
    """The extension. `stream.filename` is the template's name in directives."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Adds data tokens with directives."""
        return _Filter(stream.filename or "?").run(stream)


def _is_assignment(tag: list[Token]) -> bool:
    """Whether the tag sets an expression: `set x = 1`, `set x, y = 1, 2`; not a block, whose
    filters can have arguments (`set x | indent(width=2)`), or another tag.
    """
    target = itertools.takewhile(lambda token: token.type != TOKEN_PIPE, tag)
    return tag[0].value == "set" and any(token.type == TOKEN_ASSIGN for token in target)


class _Filter:
    def __init__(self, file: str) -> None:
        self._file = file
        self._at_start = True  # the output is at the start of a line
        self._anchor = True  # the next line requires a directive
        self._next_line = 1  # the line number that the compiler assigns next
        # Of each open body without directives: whether its tag is at the start of a line.
        self._captures: list[bool] = []
        self._tag: list[Token] = []

    def run(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            if token.type == TOKEN_DATA:
                yield from self._data(token)
                continue
            if token.type == TOKEN_BLOCK_BEGIN:
                self._tag = []
            elif token.type == TOKEN_BLOCK_END:
                self._end_tag()
            elif token.type == TOKEN_VARIABLE_BEGIN:
                if self._at_start and (self._anchor or token.lineno != self._next_line):
                    yield from self._directive(token.lineno)
                    self._anchor = False
                self._anchor = self._anchor or self._at_start
                self._at_start = False
            elif token.type == TOKEN_VARIABLE_END:
                self._next_line = token.lineno
            else:
                self._tag.append(token)
            yield token

    def _end_tag(self) -> None:
        self._anchor = True
        words = [t.value for t in self._tag if t.type == TOKEN_NAME]
        if not words:
            return
        if words[0].startswith("end") and words[0][3:] in _CAPTURES:
            self._at_start = self._captures.pop() if self._captures else self._at_start
        elif words[0] in _CAPTURES and not _is_assignment(self._tag):
            self._captures.append(self._at_start)

    def _data(self, token: Token) -> Iterator[Token]:
        line, text = token.lineno, token.value
        lost = self._anchor or line != self._next_line
        if lost and not self._at_start:
            # First the rest of a line that a tag or a macro's output interrupts.
            rest = _LINE_REST.match(text)
            end = rest.end() if rest else len(text)
            yield Token(line, TOKEN_DATA, text[:end])
            line, text = line + text.count("\n", 0, end), text[end:]
            self._at_start = rest is not None
        if text:
            if lost:
                yield from self._directive(line)
                self._anchor = False
            yield Token(line, TOKEN_DATA, text)
            self._at_start = text.endswith("\n") and not text.endswith("\\\n")
        self._next_line = line + text.count("\n")

    def _directive(self, line: int) -> Iterator[Token]:
        if not self._captures:
            yield Token(line, TOKEN_DATA, f'#line {line} "{self._file}"\n')
