"""Reads FlatBuffers by their schema, without generated code and with the standard library alone.

The Python library of FlatBuffers has no verifier and requires bindings of the schema. Every offset,
vtable and length is checked against the buffer before use. The number of visited items and the
depth of nested tables are bounded, so the cost of a malicious file is bounded too.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from spec_model.flatbuffer_schema import SCALARS, Field, Schema


class MalformedBuffer(Exception):
    """Why bytes are not a FlatBuffer of the schema, or not a file of their format."""


# A table: its fields by name. Absent strings and vectors are empty, absent tables are None, absent
# scalars have their defaults. Vectors of scalars are tuples, those of bytes memoryviews.
Row = dict[str, Any]
# A member of a union: the name of the table, and the table.
Member = tuple[str, Row]
NOTHING: Member = ("Null", {})
_MAX_DEPTH = 64  # of nested tables, as of the verifier of FlatBuffers


def read(data: bytes | memoryview, schema: Schema, start: int = 0) -> Row:
    """The root table of a buffer, whose root offset is stored at `start`. Raises
    MalformedBuffer.
    """
    if bytes(data[start + 4 : start + 8]) != schema.identifier:
        raise MalformedBuffer(f"the identifier {schema.identifier.decode()} is missing")
    return _Reader(memoryview(data), schema).table(start, schema.root)


def text_of(data: bytes) -> str:
    """The UTF-8 string in the bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise MalformedBuffer(f"the string {data!r} is not UTF-8") from error


class CheckedBuffer:
    """A buffer with checked reads: bounds, and a `budget` of visited bytes and tables."""

    def __init__(self, data: bytes | memoryview, budget: int) -> None:
        self.data = data
        self._budget = budget

    def table_at(self, offset_at: int) -> Table:
        """The table that the offset stored at `offset_at` refers to."""
        position = self.follow(offset_at)
        vtable = position - self.value("<i", position)
        vtable_size, size = self.value("<H", vtable), self.value("<H", vtable + 2)
        if vtable_size < 4 or vtable_size % 2:
            raise MalformedBuffer(f"the vtable at byte {vtable} has size {vtable_size}")
        self.require(vtable, vtable_size)
        self.require(position, size)
        return Table(self, position, size, vtable, vtable_size)

    def items(self, offset_at: int, item_size: int) -> tuple[int, int]:
        """The position of the first item of a vector, and the count of items."""
        position = self.follow(offset_at)
        count = self.value("<I", position)
        self.spend(count * item_size)
        self.require(position + 4, count * item_size)
        return position + 4, count

    def follow(self, offset_at: int) -> int:
        """The position that the offset stored at `offset_at` refers to."""
        offset: int = self.value("<I", offset_at)
        if offset == 0:
            raise MalformedBuffer(f"the offset at byte {offset_at} is zero")
        return offset_at + offset

    def value(self, form: str, position: int) -> Any:
        """The value at a position, in the struct format `form`."""
        self.require(position, struct.calcsize(form))
        return struct.unpack_from(form, self.data, position)[0]

    def require(self, position: int, size: int) -> None:
        """Fails if the range exceeds the buffer."""
        if position < 0 or position + size > len(self.data):
            raise MalformedBuffer(
                f"bytes {position} to {position + size} are outside its {len(self.data)} bytes"
            )

    def spend(self, amount: int) -> None:
        """Subtracts from the budget. Fails if it is exhausted."""
        self._budget -= amount
        if self._budget < 0:
            raise MalformedBuffer("tables or vectors overlap")


@dataclass(frozen=True, slots=True)
class Table:
    """The positions and sizes of a table and its vtable."""

    buffer: CheckedBuffer
    position: int
    size: int
    vtable: int
    vtable_size: int

    def field(self, index: int, size: int) -> int:
        """The position of a field of `size` bytes; 0 if the table does not contain it."""
        entry = 4 + 2 * index
        here = entry + 2 <= self.vtable_size
        offset: int = self.buffer.value("<H", self.vtable + entry) if here else 0
        if offset == 0:
            return 0
        if offset < 4 or offset + size > self.size:
            raise MalformedBuffer(f"field {index} is outside the table at byte {self.position}")
        return self.position + offset


class _Reader(CheckedBuffer):
    def __init__(self, data: memoryview, schema: Schema) -> None:
        super().__init__(data, budget=2 * len(data))  # equal strings may be shared
        self._schema = schema
        self._depth = 0
        self._structs = {
            name: ([f.name for f in fields], "<" + "".join(SCALARS[f.of] for f in fields))
            for name, fields in schema.structs.items()
        }

    def table(self, offset_at: int, name: str) -> Row:
        """The table at the offset that is stored at `offset_at`."""
        self.spend(4)
        if self._depth == _MAX_DEPTH:
            raise MalformedBuffer(f"its tables are nested more than {_MAX_DEPTH} deep")
        self._depth += 1
        table = self.table_at(offset_at)
        row = {f.name: self._field(f, table) for f in self._schema.tables[name]}
        self._depth -= 1
        return row

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
        if field.of in self._structs:
            return self._struct_vector(field.of, at)
        form = SCALARS.get(field.of)
        if not at:
            return memoryview(b"") if form == "B" else ()
        start, count = self.items(at, 4 if form is None else struct.calcsize(form))
        if form is None:
            rows = range(start, start + 4 * count, 4)
            if field.of == "string":
                return [self._text(row) for row in rows]
            return [self.table(row, field.of) for row in rows]
        if form == "B":
            return self.data[start : start + count]
        return struct.unpack_from(f"<{count}{form}", self.data, start)

    def _struct_vector(self, name: str, at: int) -> list[Row]:
        names, form = self._structs[name]
        size = struct.calcsize(form)
        start, count = self.items(at, size) if at else (0, 0)
        found = struct.iter_unpack(form, self.data[start : start + count * size])
        return [dict(zip(names, values, strict=True)) for values in found]

    def _text(self, at: int) -> str:
        start, count = self.items(at, 1)
        return text_of(bytes(self.data[start : start + count]))
