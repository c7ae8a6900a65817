"""The arguments and values of `let` that a kernel's GLSL names: they are push constants without an
entry in `push`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache

from spec_model.expr.types import Kind
from spec_model.spec import Arg, ArgType, Check, Let
from spec_model.templates import Templates
from spec_model.yaml_reader import Scalar, read_text

_JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_INCLUDE = re.compile(r"\{%-?\s*(?:include|import|from)\s+\"(lib/[^\"]+)\"")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
_NESTED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}")
_DECLARATION = re.compile(r"(?<!\w)(?=([A-Za-z_]\w*)\s+([A-Za-z_]\w*))")  # matches may overlap
_STATEMENT = re.compile(r"[^;(){}]+;?")
_NEXT_NAME = re.compile(r",\s*([A-Za-z_]\w*)\s*(?=[;,=\[])")
_STATEMENTS = ("return", "else", "case")  # words that a use may follow
_SCALARS = (ArgType.INT, ArgType.FLOAT, ArgType.NUMBER, ArgType.BOOL)
_NUMBERS = (Kind.INT, Kind.FLOAT, Kind.BOOL)
_WORDS = """
attribute const uniform varying buffer shared coherent volatile restrict readonly writeonly layout
centroid flat smooth noperspective patch sample invariant precise break continue do for while switch
case default if else subroutine in out inout true false lowp mediump highp precision struct discard
return void bool int uint float double atomic_uint
common partition active asm class union enum typedef template this resource goto inline noinline
public static extern external interface long short half fixed unsigned superp input output filter
sizeof cast namespace using main
"""
_TYPES = {f"{kind}vec{n}" for kind in ("", "b", "i", "u", "d") for n in (2, 3, 4)}
_MATRICES = {f"{kind}mat{n}" for kind in ("", "d") for n in (2, 3, 4)}
GLSL_WORDS = frozenset(_WORDS.split()) | _TYPES | _MATRICES


def pushable(args: Iterable[Arg], steps: Iterable[Let | Check]) -> dict[str, Scalar]:
    """The arguments, then the values of `let`, that can be push constants: name → name with its
    position."""
    found = [
        (arg.name, arg.position)
        for arg in args
        if arg.type in _SCALARS or (arg.type is ArgType.INTS and arg.length is not None)
    ]
    found += [
        (step.name, step.position)
        for step in steps
        if isinstance(step, Let)
        and step.name not in GLSL_WORDS
        and (step.value.kind in _NUMBERS or (step.value.kind is Kind.INTS and step.value.length))
    ]
    return {name: Scalar(position, name, quoted=False, located=False) for name, position in found}


def used_values(
    template: str, params: object, names: Collection[str], templates: Templates
) -> frozenset[str]:
    """Those of the names that a template's text and its params use as variables, and that no
    library file of the template declares globally."""
    used = used_scalars((template, *texts_in(params)), names)
    if not used:
        return used
    return used.difference(*map(_declared_globally, _included(template, templates)))


def _included(template: str, templates: Templates) -> Iterator[str]:
    """The texts of the library files that a template includes or imports, also indirectly."""
    found: set[str] = set()
    left = list(_includes(template))
    while left:
        name = left.pop()
        source = None if name in found else templates.find(name)
        found.add(name)
        if source is not None:
            text = read_text(source)
            yield text
            left += _includes(text)


def used_scalars(glsl: Iterable[str], names: Collection[str]) -> frozenset[str]:
    """Those of the names that the texts (templates, params) use as variables. A text that declares
    a name has its own variable.
    """
    found: set[str] = set()
    for text in glsl:
        words, declared = _names(text)
        found |= (words & set(names)) - declared
    return frozenset(found)


# Each text is analyzed once: kernels share templates, and templates library files.
_analyzed_once = lru_cache(maxsize=4096)


@_analyzed_once
def _includes(text: str) -> tuple[str, ...]:
    return tuple(_INCLUDE.findall(text))


@_analyzed_once
def _names(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a text, and the names of variables and parameters that it declares."""
    code = _code(text)
    return frozenset(_WORD.findall(code)), _declared(code)


@_analyzed_once
def _declared_globally(text: str) -> frozenset[str]:
    """The names of variables that a text declares outside of parentheses, brackets and braces."""
    code, count = _code(text), 1
    while count:
        code, count = _NESTED.subn("", code)
    return _declared(code)


def _code(text: str) -> str:
    """A text without comments and Jinja."""
    return _COMMENT.sub(" ", _JINJA.sub(_placeholder, text))


def _placeholder(match: re.Match[str]) -> str:
    return "SUBSTITUTED " if match[0].startswith("{{") else " "


def _declared(code: str) -> frozenset[str]:
    """The names of variables and parameters that a text declares: `int name`, `int a, name`."""
    found = {name for word, name in _DECLARATION.findall(code) if word not in _STATEMENTS}
    for statement in _STATEMENT.findall(code):
        first = _DECLARATION.search(statement)
        if first:
            found.update(_NEXT_NAME.findall(statement, first.end(2)))
    return frozenset(found)


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
