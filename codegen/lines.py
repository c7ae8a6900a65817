"""A Jinja extension that writes `#line N "file"` where the output leaves the template's lines.

That is at its start, after block tags, after comments of several lines, and after `{{ … }}` alone
on a line (a macro's output may have many). Bodies of macros and of block `set`, `call` and `filter`
are left alone: their text may be used inside a line.
"""

from __future__ import annotations

from collections.abc import Iterator

from jinja2.ext import Extension
from jinja2.lexer import (
    TOKEN_ASSIGN,
    TOKEN_BLOCK_BEGIN,
    TOKEN_BLOCK_END,
    TOKEN_DATA,
    TOKEN_NAME,
    TOKEN_VARIABLE_BEGIN,
    TOKEN_VARIABLE_END,
    Token,
    TokenStream,
)

_CAPTURES = frozenset({"macro", "call", "filter", "set"})


class LineDirectives(Extension):
    """The extension; `stream.filename` is what the directives call the template."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Adds data tokens with the directives."""
        return _Filter(stream.filename or "?").run(stream)


class _Filter:
    def __init__(self, file: str) -> None:
        self._file = file
        self._at_start = True  # the output stands at the start of a line
        self._anchor = True  # the next line's number must be said
        self._next_line = 1  # which the compiler would take the next line to be
        self._captures = 0  # open bodies whose text may be used inside a line
        self._tag: list[Token] = []
        self._tag_line = 0
        self._variable_alone = False  # the output line began with the `{{ … }}` just ended

    def run(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            if token.type == TOKEN_DATA:
                yield from self._data(token)
                continue
            if token.type == TOKEN_BLOCK_BEGIN:
                self._tag = []
            elif token.type == TOKEN_BLOCK_END:
                self._end_tag(token)
            elif token.type == TOKEN_VARIABLE_BEGIN:
                if self._at_start and (self._anchor or token.lineno != self._next_line):
                    yield from self._directive(token.lineno)
                self._variable_alone = self._at_start
                self._at_start = False
            elif token.type == TOKEN_VARIABLE_END:
                self._next_line = token.lineno
            else:
                self._tag.append(token)
            yield token

    def _end_tag(self, token: Token) -> None:
        self._anchor = True
        self._tag_line = token.lineno
        self._variable_alone = False
        words = [t.value for t in self._tag if t.type == TOKEN_NAME]
        if not words:
            return
        if words[0].startswith("end") and words[0][3:] in _CAPTURES:
            self._captures -= 1
        elif words[0] in _CAPTURES and not any(t.type == TOKEN_ASSIGN for t in self._tag[:4]):
            self._captures += 1

    def _data(self, token: Token) -> Iterator[Token]:
        text = token.value
        inline_tag = self._anchor and token.lineno == self._tag_line
        if self._at_start and not inline_tag and (self._anchor or token.lineno != self._next_line):
            yield from self._directive(token.lineno)
        line = token.lineno
        if self._variable_alone and text.startswith("\n") and len(text) > 1:
            yield Token(line, TOKEN_DATA, "\n")
            text, line = text[1:], line + 1
            yield from self._directive(line)
        self._variable_alone = False
        yield Token(line, TOKEN_DATA, text)
        self._at_start = text.endswith("\n") and not text.endswith("\\\n")
        self._anchor = False
        self._next_line = line + text.count("\n")

    def _directive(self, line: int) -> Iterator[Token]:
        if self._captures == 0:
            yield Token(line, TOKEN_DATA, f'#line {line} "{self._file}"\n')
