"""Checks a FlatBuffer before it is read, and reads it without generated code.

FlatBuffers' own Python library has no verifier, and needs bindings of the schema.

Every offset, vtable and length is checked against the buffer, and the number of things visited is
bounded by its size, so that a hostile file costs no more than an honest one.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class MalformedBuffer(Exception):
    """The bytes are no FlatBuffer of the expected schema."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar of `size` bytes, in the table itself."""

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


# Keys are field numbers, in the order of the schema.
Field = Scalar | String | Vector | Tables


def verify(data: bytes, start: int, fields: Mapping[int, Field]) -> None:
    """Checks the buffer whose root offset lies at `start`; raises MalformedBuffer."""
    _Verifier(data, budget=len(data)).table(start, fields)


Values = dict[int, Any]  # by field number: an int, a str, the bytes of a vector, a list of tables


def read(data: bytes, start: int, fields: Mapping[int, Field]) -> Values:
    """The fields that the table has, once the whole buffer is verified; MalformedBuffer if not."""
    verify(data, start, fields)
    return _read_table(data, _follow(data, start), fields)


def _follow(data: bytes, position: int) -> int:
    offset: int = struct.unpack_from("<I", data, position)[0]
    return position + offset


def _read_table(data: bytes, position: int, fields: Mapping[int, Field]) -> Values:
    vtable = position - struct.unpack_from("<i", data, position)[0]
    size = struct.unpack_from("<H", data, vtable)[0]
    values = {}
    for number, field in fields.items():
        entry = vtable + 4 + 2 * number
        offset = struct.unpack_from("<H", data, entry)[0] if entry + 2 <= vtable + size else 0
        if offset:
            values[number] = _read_field(data, position + offset, field)
    return values


def _read_field(data: bytes, position: int, field: Field) -> object:
    if isinstance(field, Scalar):
        return int.from_bytes(data[position : position + field.size], "little")
    start = _follow(data, position) + 4
    count = struct.unpack_from("<I", data, start - 4)[0]
    if isinstance(field, Vector):
        return data[start : start + count * field.size]
    if isinstance(field, String):
        return _text(data[start : start + count])
    rows = range(start, start + 4 * count, 4)
    return [_read_table(data, _follow(data, row), field.fields) for row in rows]


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise MalformedBuffer(f"the string {data!r} is not UTF-8") from error


class _Verifier:
    def __init__(self, data: bytes, budget: int) -> None:
        self._data = data
        self._budget = budget

    def table(self, offset_at: int, fields: Mapping[int, Field]) -> None:
        """Checks the table that the offset stored at `offset_at` leads to."""
        self._spend(1)
        position = self._follow(offset_at)
        vtable = position - self._read("<i", position)
        vtable_size = self._read("<H", vtable)
        table_size = self._read("<H", vtable + 2)
        if vtable_size < 4 or vtable_size % 2:
            raise MalformedBuffer(f"the vtable at byte {vtable} has size {vtable_size}")
        self._require(vtable, vtable_size)
        self._require(position, table_size)
        for number, field in fields.items():
            if 4 + 2 * number + 2 > vtable_size:
                continue
            offset = self._read("<H", vtable + 4 + 2 * number)
            if offset == 0:
                continue
            size = field.size if isinstance(field, Scalar) else 4
            if offset < 4 or offset + size > table_size:
                raise MalformedBuffer(f"field {number} lies outside the table at byte {position}")
            self._field(position + offset, field)

    def _field(self, position: int, field: Field) -> None:
        match field:
            case Scalar():
                pass
            case String():
                self._vector(position, 1)
            case Vector(size):
                self._vector(position, size)
            case Tables(fields):
                start, count = self._vector(position, 4)
                for i in range(count):
                    self.table(start + 4 * i, fields)

    def _vector(self, offset_at: int, item_size: int) -> tuple[int, int]:
        """The first byte and the number of items of a vector within the buffer."""
        position = self._follow(offset_at)
        count = self._read("<I", position)
        self._spend(count * item_size)
        self._require(position + 4, count * item_size)
        return position + 4, count

    def _follow(self, offset_at: int) -> int:
        offset: int = self._read("<I", offset_at)
        if offset == 0:
            raise MalformedBuffer(f"the offset at byte {offset_at} is zero")
        return offset_at + offset

    def _read(self, form: str, position: int) -> int:
        self._require(position, struct.calcsize(form))
        value: int = struct.unpack_from(form, self._data, position)[0]
        return value

    def _require(self, position: int, size: int) -> None:
        if position < 0 or position + size > len(self._data):
            raise MalformedBuffer(
                f"bytes {position} to {position + size} lie outside its {len(self._data)} bytes"
            )

    def _spend(self, amount: int) -> None:
        self._budget -= amount
        if self._budget < 0:
            raise MalformedBuffer("parts of the buffer are used more than once")
