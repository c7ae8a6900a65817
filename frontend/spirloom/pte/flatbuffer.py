"""Reads FlatBuffers by schema (.fbs). Checks offsets and lengths before use."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spec_model.flatbuffer import CheckedBuffer, MalformedBuffer, Table, text_of
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
    """Tables and unions by name. Enum fields are scalars."""

    tables: Mapping[str, tuple[Field, ...]]
    unions: Mapping[str, tuple[str, ...]]
    root: str
    identifier: bytes


@cache
def load(path: str) -> Schema:
    """Loads a schema by its path in the repository; packages contain the schemas too."""
    return parse((Path(ROOT) / path).read_text(encoding="utf-8"))


def parse(text: str) -> Schema:
    """Parses a schema. Supports only the syntax that this repository's schemas use."""
    return _Parser([t for t in _TOKEN.findall(text) if not t.startswith("//")]).schema()


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._enums: dict[str, tuple[str, dict[str, int]]] = {}
        self._unions: dict[str, tuple[str, ...]] = {}
        self._tables: dict[str, list[tuple[str, str, bool, str]]] = {}

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
                    self._table()
                case "root_type":
                    root = self._until(";")[0]
                case "file_identifier":
                    identifier = self._until(";")[0].strip('"').encode()
                case other:
                    raise ValueError(f"unexpected token '{other}' in a schema")
        tables = {name: self._number_fields(fields) for name, fields in self._tables.items()}
        return Schema(tables, self._unions, root, identifier)

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

    def _table(self) -> None:
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
        self._tables[name] = fields

    def _number_fields(self, fields: list[tuple[str, str, bool, str]]) -> tuple[Field, ...]:
        found, number = [], 0
        for name, of, is_vector, default in fields:
            number += of in self._unions  # a union has a preceding field for its type
            base, values = self._enums.get(of, (of, {}))
            start = values[default] if default in values else int(default)
            found.append(Field(name, number, base, is_vector, start))
            number += 1
        return tuple(found)


Row = dict[str, Any]
# A member of a union: the name of the table, and the table.
Member = tuple[str, Row]
NOTHING: Member = ("Null", {})


def read(data: memoryview, schema: Schema) -> Row:
    """The root table of a buffer. Raises MalformedBuffer."""
    if bytes(data[4:8]) != schema.identifier:
        raise MalformedBuffer(f"the identifier {schema.identifier.decode()} is missing")
    return _Reader(data, schema).table(0, schema.root)


class _Reader(CheckedBuffer):
    def __init__(self, data: memoryview, schema: Schema) -> None:
        super().__init__(data, budget=2 * len(data))  # equal strings may be shared
        self._schema = schema

    def table(self, offset_at: int, name: str) -> Row:
        """The table at the offset that is stored at `offset_at`."""
        self.spend(4)
        table = self.table_at(offset_at)
        return {f.name: self._field(f, table) for f in self._schema.tables[name]}

    def _field(self, field: Field, table: Table) -> Any:
        form = SCALARS.get(field.of)
        if form is not None and not field.is_vector:
            at = table.field(field.number, struct.calcsize(form))
            return self.value(f"<{form}", at) if at else field.default
        at = table.field(field.number, 4)
        if field.of in self._schema.unions:
            return self._union(field, at, table)
        if field.is_vector:
            return self._vector(field, at)
        if field.of == "string":
            return self._text(at) if at else ""
        return self.table(at, field.of) if at else None

    def _union(self, field: Field, at: int, table: Table) -> Member | None:
        kind_at = table.field(field.number - 1, 1)
        kind = self.value("<B", kind_at) if kind_at else 0
        if kind == 0 or not at:
            return None
        names = self._schema.unions[field.of]
        if kind > len(names):
            raise MalformedBuffer(f"'{field.name}' has type {kind}; expected 1 to {len(names)}")
        return names[kind - 1], self.table(at, names[kind - 1])

    def _vector(self, field: Field, at: int) -> Any:
        form = SCALARS.get(field.of)
        if not at:
            return memoryview(b"") if form == "B" else ()
        start, count = self.items(at, 4 if form is None else struct.calcsize(form))
        if form is None:
            rows = range(start, start + 4 * count, 4)
            return [self.table(row, field.of) for row in rows]
        if form == "B":
            return self.data[start : start + count]
        return tuple(np.frombuffer(self.data, f"<{form}", count, start).tolist())

    def _text(self, at: int) -> str:
        start, count = self.items(at, 1)
        return text_of(bytes(self.data[start : start + count]))
