"""Schemas of FlatBuffers (.fbs), as far as this repository's schemas use their syntax."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spec_model.templates import ROOT

# Scalar types of schemas → format characters of `struct`.
SCALARS = {
    "bool": "?", "byte": "b", "ubyte": "B", "int": "i", "uint": "I", "long": "q", "double": "d",
    "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
}  # fmt: skip
_TOKEN = re.compile(r'//[^\n]*|"[^"]*"|-?[\w.]+|[^\s\w]')


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a table: `of` is a scalar, `string`, or the name of a table or union."""

    name: str
    number: int
    of: str
    is_vector: bool = False
    default: int = 0


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables, structs, unions and the values of enums by name. Enum fields are scalars."""

    tables: Mapping[str, tuple[Field, ...]]
    structs: Mapping[str, tuple[Field, ...]]
    unions: Mapping[str, tuple[str, ...]]
    enums: Mapping[str, Mapping[str, int]]
    root: str
    identifier: bytes


@cache
def load(path: str) -> Schema:
    """Loads a schema by its path in the repository; packages contain the schemas too."""
    return parse((Path(ROOT) / path).read_text(encoding="utf-8"))


def parse(text: str) -> Schema:
    """Parses a schema. Supports only the syntax that this repository's schemas use."""
    return _Parser([t for t in _TOKEN.findall(text) if not t.startswith("//")]).schema()


# The name of a field, its type, whether it is a vector, and its default.
_Declared = tuple[str, str, bool, str]


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._enums: dict[str, tuple[str, dict[str, int]]] = {}
        self._unions: dict[str, tuple[str, ...]] = {}
        self._tables: dict[str, list[_Declared]] = {}
        self._structs: dict[str, list[_Declared]] = {}

    def schema(self) -> Schema:
        root, identifier = "", b""
        while self._at < len(self._tokens):
            match self._next():
                case "namespace":
                    self._until(";")
                case "enum":
                    self._enum()
                case "union":
                    name = self._next()
                    self._unions[name] = tuple(t for t in self._until("}") if t not in "{,")
                case "table":
                    self._table(self._tables)
                case "struct":
                    self._table(self._structs)
                case "file_extension":
                    self._until(";")
                case "root_type":
                    root = self._until(";")[0]
                case "file_identifier":
                    identifier = self._until(";")[0].strip('"').encode()
                case other:
                    raise ValueError(f"unexpected token '{other}' in a schema")
        tables, structs = (
            {name: self._number_fields(fields) for name, fields in found.items()}
            for found in (self._tables, self._structs)
        )
        enums = {name: values for name, (_, values) in self._enums.items()}
        return Schema(tables, structs, self._unions, enums, root, identifier)

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _until(self, end: str) -> list[str]:
        first = self._at
        self._at = self._tokens.index(end, first) + 1
        return self._tokens[first : self._at - 1]

    def _enum(self) -> None:
        name, _, base = self._next(), self._next(), self._next()
        words = [t for t in self._until("}") if t not in "{,="]
        pairs = zip(words[::2], map(int, words[1::2]), strict=True)
        self._enums[name] = base, dict(pairs)

    def _table(self, found: dict[str, list[_Declared]]) -> None:
        name = self._next()
        tokens = self._until("}")[1:]
        fields = []
        while tokens:
            end = tokens.index(";")
            field, _, *of = tokens[:end]
            default = of[of.index("=") + 1] if "=" in of else "0"
            is_vector = of[0] == "["
            fields.append((field, of[1] if is_vector else of[0], is_vector, default))
            tokens = tokens[end + 1 :]
        found[name] = fields

    def _number_fields(self, fields: list[_Declared]) -> tuple[Field, ...]:
        found, number = [], 0
        for name, of, is_vector, default in fields:
            number += of in self._unions  # a union has a preceding field for its type
            base, values = self._enums.get(of, (of, {}))
            start = values[default] if default in values else int(default)
            found.append(Field(name, number, base, is_vector, start))
            number += 1
        return tuple(found)
