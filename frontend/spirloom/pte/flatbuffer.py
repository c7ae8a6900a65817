"""Reads FlatBuffers by their schema, each offset and length checked before it is used.

What is visited is bounded by the buffer's size, so that a hostile file costs no more than an
honest one. A table becomes a dict by the names of its fields, absent ones with their defaults; a
union is (name, table); numbers are Python's, bytes are seen where they lie.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from codegen.flatbuffer import CheckedBuffer, MalformedBuffer, Table, text_of
from spirloom.pte.schema import SCALARS, Field, Schema

Row = dict[str, Any]
# Of a union: the table's name, and the table.
Member = tuple[str, Row]
NOTHING: Member = ("Null", {})


def read(data: memoryview, schema: Schema) -> Row:
    """The root of a buffer that begins with its offset and identifier; MalformedBuffer."""
    if bytes(data[4:8]) != schema.identifier:
        raise MalformedBuffer(f"the identifier {schema.identifier.decode()} is missing")
    return _Reader(data, schema).table(0, schema.root)


class _Reader(CheckedBuffer):
    def __init__(self, data: memoryview, schema: Schema) -> None:
        super().__init__(data, budget=2 * len(data))  # writers share equal strings
        self._schema = schema

    def table(self, offset_at: int, name: str) -> Row:
        """The table that the offset stored at `offset_at` leads to."""
        self.spend(4)
        table = self.table_at(offset_at)
        return {f.name: self._field(f, table) for f in self._schema.tables[name]}

    def _field(self, field: Field, table: Table) -> Any:
        form = SCALARS.get(field.of)
        if form is not None and not field.is_vector:
            at = table.field(field.number, struct.calcsize(form))
            return self.number(f"<{form}", at) if at else field.default
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
        kind = self.number("<B", kind_at) if kind_at else 0
        if kind == 0 or not at:
            return None
        names = self._schema.unions[field.of]
        if kind > len(names):
            raise MalformedBuffer(f"'{field.name}' is of kind {kind}, not of 1 to {len(names)}")
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
