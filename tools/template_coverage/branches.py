"""Records which Jinja branches of templates are rendered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.lexer import (
    TOKEN_BLOCK_BEGIN,
    TOKEN_BLOCK_END,
    TOKEN_INTEGER,
    TOKEN_NAME,
    TOKEN_STRING,
    Token,
    TokenStream,
)
from jinja2.parser import Parser

_TAG = "record_branch"
_BRANCHES = ("if", "elif", "else", "for", "macro")


@dataclass(frozen=True, slots=True, order=True)
class Branch:
    """The body below a tag: `if`, `elif`, `else`, `for` or `macro`."""

    template: str
    line: int
    tag: str


class BranchRecorder(Extension):
    """Adds a statement at the beginning of each branch, which adds the branch to `rendered`. The
    text does not change. `known` are the branches of all templates that were loaded.
    """

    tags = {_TAG}  # noqa: RUF012 - as in the base class

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.known: set[Branch] = set()
        self.rendered: set[Branch] = set()

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Inserts the statement behind each tag of a branch."""
        previous = tag = ""
        for token in stream:
            if previous == TOKEN_BLOCK_BEGIN:
                tag = str(token.value) if token.type == TOKEN_NAME else ""
            yield token
            previous = token.type
            if token.type == TOKEN_BLOCK_END and tag in _BRANCHES:
                line = token.lineno
                yield Token(line, TOKEN_BLOCK_BEGIN, "{%")
                yield Token(line, TOKEN_NAME, _TAG)
                yield Token(line, TOKEN_STRING, tag)
                yield Token(line, TOKEN_INTEGER, line)  # type: ignore[arg-type]
                yield Token(line, TOKEN_BLOCK_END, "%}")

    def parse(self, parser: Parser) -> nodes.Node:
        """The inserted statement."""
        line = next(parser.stream).lineno
        tag, where = next(parser.stream).value, int(next(parser.stream).value)
        branch = Branch(str(parser.name), where, tag)
        self.known.add(branch)
        values: list[nodes.Expr] = [nodes.Const(branch.template), nodes.Const(where)]
        call = self.call_method("_record", [*values, nodes.Const(tag)], lineno=line)
        return nodes.ExprStmt(call, lineno=line)

    def _record(self, template: str, line: int, tag: str) -> None:
        self.rendered.add(Branch(template, line, tag))
