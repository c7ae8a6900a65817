"""Includes of library files (`lib/…`) with parameters:

  {% include "lib/prelude.glsl.j2" with vec4=["x", "y"], deferred=["bias"] %}
  {% include "lib/dot4.glsl.j2" with dot %}

`with dot` is `with dot=dot`. The file declares its parameters below `Params:` in its opening
comment; those that it reads with `default(…)` are optional. It sees no other variables of the
template that includes it than the names that every template has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.lexer import TOKEN_BLOCK_BEGIN, TOKEN_NAME, Token, TokenStream
from jinja2.parser import Parser

_TAG = "include_file"  # instead of `include`, whose tag extensions cannot parse
OPENING = re.compile(r"\A\{#\s(?P<body>.*?)\s#\}\n", re.DOTALL)
_SECTION = re.compile(r"^Params:\n(?P<lines>(?:  .*(?:\n|\Z))*)", re.MULTILINE)
_PARAM = re.compile(r"^  (?P<names>\w+(?:, \w+)*)(?:  |,?$)", re.MULTILINE)
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileParams:
    """The parameters of a library file."""

    required: tuple[str, ...]
    optional: tuple[str, ...]


def is_library(name: str) -> bool:
    """Whether a template is a file of a library."""
    return name.startswith("lib/")


def described_params(body: str) -> dict[str, int]:
    """The names below `Params:` of a comment, with their lines in it, from 0."""
    section = _SECTION.search(body)
    if section is None:
        return {}
    first = 1 + body.count("\n", 0, section.start())
    found: dict[str, int] = {}
    for match in _PARAM.finditer(section["lines"]):
        line = first + section["lines"].count("\n", 0, match.start())
        found |= {name: line for name in match["names"].split(", ")}
    return found


def params_of(text: str) -> FileParams:
    """The parameters that a library file declares."""
    opening = OPENING.match(text)
    names = described_params(opening["body"]) if opening else {}
    code = _COMMENT.sub("", text)
    has_default = {n for n in names if re.search(rf"\b{n} (?:\| default\(|is defined)", code)}
    return FileParams(
        tuple(name for name in names if name not in has_default),
        tuple(name for name in names if name in has_default),
    )


class IncludeParams(Extension):
    """The extension. The environment's `absent(name)` is the value of an absent parameter."""

    tags = {_TAG}  # noqa: RUF012 - as in the base class

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Renames the tag."""
        begins = False
        for token in stream:
            if begins and token.type == TOKEN_NAME and token.value == "include":
                token = Token(token.lineno, TOKEN_NAME, _TAG)
            begins = token.type == TOKEN_BLOCK_BEGIN
            yield token

    def parse(self, parser: Parser) -> nodes.Node:
        """An include, in a scope with the parameters."""
        line = next(parser.stream).lineno
        template = parser.parse_expression()
        include = nodes.Include(template, True, False, lineno=line)
        given: dict[str, nodes.Expr] = {}
        if parser.stream.skip_if("name:with"):
            given = dict(self._given(parser))
        files = [c.value for c in template.find_all(nodes.Const) if isinstance(c.value, str)]
        files += [template.value] if isinstance(template, nodes.Const) else []
        for file in files:
            self._check(file, given, line, parser)
        absent = {p for file in files for p in self._known(file)} - set(given)
        values = given | {name: self._absent(name, line) for name in sorted(absent)}
        targets: list[nodes.Node] = [nodes.Name(name, "param", lineno=line) for name in values]
        if not targets:
            return include
        return nodes.With(targets, list(values.values()), [include], lineno=line)

    def _given(self, parser: Parser) -> Iterator[tuple[str, nodes.Expr]]:
        while True:
            name = parser.stream.expect("name")
            value: nodes.Expr = nodes.Name(name.value, "load", lineno=name.lineno)
            if parser.stream.skip_if("assign"):
                value = parser.parse_expression()
            yield name.value, value
            if not parser.stream.skip_if("comma"):
                return

    def _check(self, file: str, given: dict[str, nodes.Expr], line: int, parser: Parser) -> None:
        params = self._params(file)
        if params is None:
            return
        known = (*params.required, *params.optional)
        for name in given:
            if name not in known:
                listed = ", ".join(known) or "none"
                parser.fail(f"'{file}' has no parameter '{name}'; it has: {listed}", line)
        for name in params.required:
            if name not in given:
                parser.fail(f"'{file}' requires the parameter '{name}'; pass it by 'with'", line)

    def _known(self, file: str) -> tuple[str, ...]:
        params = self._params(file)
        return (*params.required, *params.optional) if params else ()

    def _params(self, file: str) -> FileParams | None:
        if not is_library(file) or self.environment.loader is None:
            return None
        try:
            text, _, _ = self.environment.loader.get_source(self.environment, file)
        except jinja2.TemplateNotFound:
            return None  # reported when it is rendered
        return params_of(text)

    def _absent(self, name: str, line: int) -> nodes.Expr:
        absent = nodes.EnvironmentAttribute("absent", lineno=line)
        return nodes.Call(absent, [nodes.Const(name)], [], None, None, lineno=line)
