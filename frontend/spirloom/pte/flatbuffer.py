"""Reads FlatBuffers by their schema, each offset and length checked before it is used.

What is visited is bounded by the buffer's size, so that a hostile file costs no more than an
honest one. A table becomes a dict by the names of its fields, absent ones with their defaults; a
union is (name, table); numbers are Python's, bytes are seen where they lie.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from codegen.flatbuffer import MalformedBuffer
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


class _Reader:
    def __init__(self, data: memoryview, schema: Schema) -> None:
        self._data = data
        self._schema = schema
        self._budget = 2 * len(data)  # writers share equal strings

    def table(self, offset_at: int, name: str) -> Row:
        """The table that the offset stored at `offset_at` leads to."""
        self._spend(4)
        position = self._follow(offset_at)
        vtable = position - self._number("<i", position)
        vtable_size, table_size = self._number("<H", vtable), self._number("<H", vtable + 2)
        if vtable_size < 4 or vtable_size % 2:
            raise MalformedBuffer(f"the vtable at byte {vtable} has size {vtable_size}")
        self._require(vtable, vtable_size)
        self._require(position, table_size)

        def place(number: int, size: int) -> int:
            """Where a field lies; 0 if the table does not have it."""
            entry = 4 + 2 * number
            here = entry + 2 <= vtable_size
            offset: int = self._number("<H", vtable + entry) if here else 0
            if offset and (offset < 4 or offset + size > table_size):
                raise MalformedBuffer(f"field {number} lies outside the table at byte {position}")
            return position + offset if offset else 0

        return {f.name: self._field(f, place) for f in self._schema.tables[name]}

    def _field(self, field: Field, place: Any) -> Any:
        form = SCALARS.get(field.of)
        if form is not None and not field.is_vector:
            at = place(field.number, struct.calcsize(form))
            return self._number(f"<{form}", at) if at else field.default
        at = place(field.number, 4)
        if field.of in self._schema.unions:
            return self._union(field, at, place)
        if field.is_vector:
            return self._vector(field, at)
        if field.of == "string":
            return self._text(at) if at else ""
        return self.table(at, field.of) if at else None

    def _union(self, field: Field, at: int, place: Any) -> Member | None:
        kind_at = place(field.number - 1, 1)
        kind = self._number("<B", kind_at) if kind_at else 0
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
        start, count = self._items(at, 4 if form is None else struct.calcsize(form))
        if form is None:
            rows = range(start, start + 4 * count, 4)
            return [self.table(row, field.of) for row in rows]
        if form == "B":
            return self._data[start : start + count]
        return tuple(np.frombuffer(self._data, f"<{form}", count, start).tolist())

    def _text(self, at: int) -> str:
        start, count = self._items(at, 1)
        data = bytes(self._data[start : start + count])
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise MalformedBuffer(f"the string {data!r} is not UTF-8") from error

    def _items(self, offset_at: int, size: int) -> tuple[int, int]:
        """The first byte and the number of items of a vector."""
        position = self._follow(offset_at)
        count = self._number("<I", position)
        self._spend(count * size)
        self._require(position + 4, count * size)
        return position + 4, count

    def _follow(self, offset_at: int) -> int:
        offset: int = self._number("<I", offset_at)
        if offset == 0:
            raise MalformedBuffer(f"the offset at byte {offset_at} is zero")
        return offset_at + offset

    def _number(self, form: str, position: int) -> Any:
        self._require(position, struct.calcsize(form))
        return struct.unpack_from(form, self._data, position)[0]

    def _require(self, position: int, size: int) -> None:
        if position < 0 or position + size > len(self._data):
            raise MalformedBuffer(
                f"bytes {position} to {position + size} lie outside its {len(self._data)} bytes"
            )

    def _spend(self, amount: int) -> None:
        self._budget -= amount
        if self._budget < 0:
            raise MalformedBuffer("parts of the buffer are used more than once")
