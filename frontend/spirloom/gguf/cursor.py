"""Reads numbers, strings and arrays of a GGUF file one after the other, never beyond its end."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from spirloom.ir import Array

Value = int | float | bool | str | list[Any] | Array

_STRING, _ARRAY, _BOOL = 8, 9, 7
# By number in the file.
_NUMBERS = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", _BOOL: "<u1",
    10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
_DEEPEST = 4  # of arrays of arrays
_LEAST_BYTES = {_STRING: 8, _ARRAY: 12}  # of a value


class Malformed(Exception):
    """Why a file cannot be read."""


class Cursor:
    """A place in a file's bytes. What is read is checked; Malformed says what is wrong."""

    def __init__(self, data: memoryview, at: int) -> None:
        self.at = at
        self._data = data

    @property
    def left(self) -> int:
        """The bytes from here to the end."""
        return len(self._data) - self.at

    def u32(self, what: str) -> int:
        """An unsigned number of 4 bytes."""
        return int(struct.unpack("<I", self._take(4, what))[0])

    def u64(self, what: str) -> int:
        """An unsigned number of 8 bytes."""
        return int(struct.unpack("<Q", self._take(8, what))[0])

    def count(self, what: str, least_bytes: int) -> int:
        """A number of things that follow, of which each takes so many bytes at least."""
        found = self.u64(what)
        if found > self.left // least_bytes:
            raise Malformed(f"{what} is {found}, and {self.left} bytes are left")
        return found

    def string(self, what: str) -> str:
        """A string with its length before it."""
        size = self.count(f"the length of {what}", 1)
        # Vocabularies hold pieces that are no text by themselves.
        return bytes(self._take(size, what)).decode("utf-8", errors="replace")

    def value(self, kind: int, what: str, depth: int = 0) -> Value:
        """A value of a type by its number."""
        if kind == _STRING:
            return self.string(what)
        if kind == _ARRAY:
            return self._array(what, depth)
        dtype = np.dtype(_number(kind, what))
        value = np.frombuffer(self._take(dtype.itemsize, what), dtype)[0].item()
        return bool(value) if kind == _BOOL else value

    def _array(self, what: str, depth: int) -> list[Any] | Array:
        """Numbers as an array, others as a list."""
        kind = self.u32(f"the type of the elements of {what}")
        if kind not in _LEAST_BYTES:
            dtype = np.dtype(_number(kind, what))
            count = self.count(f"the length of {what}", dtype.itemsize)
            return np.frombuffer(self._take(count * dtype.itemsize, what), dtype)
        if depth == _DEEPEST:
            raise Malformed(f"{what} holds arrays in arrays, more than {_DEEPEST} deep")
        count = self.count(f"the length of {what}", _LEAST_BYTES[kind])
        return [self.value(kind, what, depth + 1) for _ in range(count)]

    def _take(self, size: int, what: str) -> memoryview:
        if size > self.left:
            raise Malformed(f"{what} takes {size} bytes at {self.at}, and {self.left} are left")
        self.at += size
        return self._data[self.at - size : self.at]


def _number(kind: int, what: str) -> str:
    if kind not in _NUMBERS:
        raise Malformed(f"{what} is of type {kind}, and types are numbered from 0 to 12")
    return _NUMBERS[kind]
