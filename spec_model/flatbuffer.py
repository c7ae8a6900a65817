"""Verifies and reads FlatBuffers without generated code.

The Python library of FlatBuffers has no verifier and requires bindings of the schema. Every offset,
vtable and length is checked against the buffer. The number of visited items is bounded by the
buffer's size, so the cost of a malicious file is bounded too.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class MalformedBuffer(Exception):
    """The bytes are not a FlatBuffer of the expected schema."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar of `size` bytes, stored in the table."""

    size: int


@dataclass(frozen=True, slots=True)
class String:
    """A string."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector of scalars or structs of `size` bytes each."""

    size: int


@dataclass(frozen=True, slots=True)
class Tables:
    """A vector of tables."""

    fields: Mapping[int, Field]


# Keys are field ids, in the order of the schema.
Field = Scalar | String | Vector | Tables


def verify(data: bytes, start: int, fields: Mapping[int, Field]) -> None:
    """Checks the buffer whose root offset is stored at `start`. Raises MalformedBuffer."""
    _Verifier(data, budget=len(data)).table(start, fields)


Values = dict[int, Any]  # by field id: an int, a str, the bytes of a vector, a list of tables


def read(data: bytes, start: int, fields: Mapping[int, Field]) -> Values:
    """The present fields of the root table, after verification. Raises MalformedBuffer."""
    verify(data, start, fields)
    return _read_table(data, _follow(data, start), fields)


def _follow(data: bytes, position: int) -> int:
    offset: int = struct.unpack_from("<I", data, position)[0]
    return position + offset


def _read_table(data: bytes, position: int, fields: Mapping[int, Field]) -> Values:
    vtable = position - struct.unpack_from("<i", data, position)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    values = {}
    for index, field in fields.items():
        entry = vtable + 4 + 2 * index
        offset = struct.unpack_from("<H", data, entry)[0] if entry + 2 <= vtable + size else 0
        if offset:
            values[index] = _read_field(data, position + offset, field)
    return values


def _read_field(data: bytes, position: int, field: Field) -> object:
    if isinstance(field, Scalar):
        return int.from_bytes(data[position : position + field.size], "little")
    start = _follow(data, position) + 4
    count = struct.unpack_from("<I", data, start - 4)[0]
    if isinstance(field, Vector):
        return data[start : start + count * field.size]
    if isinstance(field, String):
        return text_of(data[start : start + count])
    rows = range(start, start + 4 * count, 4)
    return [_read_table(data, _follow(data, row), field.fields) for row in rows]


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


class _Verifier(CheckedBuffer):
    def table(self, offset_at: int, fields: Mapping[int, Field]) -> None:
        """Checks the table that the offset stored at `offset_at` refers to."""
        self.spend(1)
        table = self.table_at(offset_at)
        for index, field in fields.items():
            at = table.field(index, field.size if isinstance(field, Scalar) else 4)
            if at:
                self._field(at, field)

    def _field(self, position: int, field: Field) -> None:
        match field:
            case Scalar():
                pass
            case String():
                self.items(position, 1)
            case Vector(size):
                self.items(position, size)
            case Tables(fields):
                start, count = self.items(position, 4)
                for i in range(count):
                    self.table(start + 4 * i, fields)
