"""Reads GGUF files (version 2 and 3), mapped. Every size is checked before it is used."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from codegen.regular_file import open_regular
from spirloom.errors import ImportFailure
from spirloom.gguf.blocks import BLOCKS, Block, name_of
from spirloom.ir import MAX_ELEMENTS, Array

Value = int | float | bool | str | list[Any] | Array

_STRING, _ARRAY, _BOOL = 8, 9, 7
# By number in the file.
_NUMBERS = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", _BOOL: "<u1",
    10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
_DEEPEST = 4  # of arrays of arrays
_MIN_BYTES = {_STRING: 8, _ARRAY: 12}  # of a value


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

    def count(self, what: str, min_bytes: int) -> int:
        """A number of things that follow, of which each takes so many bytes at least."""
        found = self.u64(what)
        if found > self.left // min_bytes:
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
        if kind not in _MIN_BYTES:
            dtype = np.dtype(_number(kind, what))
            count = self.count(f"the length of {what}", dtype.itemsize)
            return np.frombuffer(self._take(count * dtype.itemsize, what), dtype)
        if depth == _DEEPEST:
            raise Malformed(f"{what} holds arrays in arrays, more than {_DEEPEST} deep")
        count = self.count(f"the length of {what}", _MIN_BYTES[kind])
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


_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_DIMS = 4
_MIN_ENTRY = 8 + 4 + 1  # bytes of a key's or a tensor's length, type or rank, and what follows
_MAX_ALIGNMENT = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor of a file: rows of blocks, the last dimension within a row."""

    shape: tuple[int, ...]
    kind: int
    offset: int

    @property
    def block(self) -> Block:
        """How its numbers lie."""
        return BLOCKS[self.kind]


def is_gguf(path: Path) -> bool:
    """Whether a file says that it is one."""
    try:
        with open_regular(path) as stream:
            return stream.read(4) == _MAGIC
    except OSError:
        return False  # whoever reads it says why


class GgufFile:
    """`metadata` by keys, and `tensors` by names, of which `rows_of` gives the bytes."""

    def __init__(self, path: Path) -> None:
        """Raises ImportFailure."""
        self.path = path
        try:
            with open_regular(path) as stream:
                data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ImportFailure(f"Cannot read {path}: {reason}.") from error
        try:
            cursor, tensors, values = _start(data)
            self.metadata = _metadata(cursor, values)
            alignment = _alignment(self.metadata)
            entries = [_entry(cursor, alignment) for _ in range(tensors)]
            self.tensors = _table(entries)
            begin = cursor.at + -cursor.at % alignment
            self._content = data[min(begin, len(data)) :]
            for name, entry in self.tensors.items():
                _check_bytes(name, entry, len(self._content))
        except Malformed as error:
            raise ImportFailure(f"{path} is damaged or no GGUF file: {error}.") from None

    def rows_of(self, name: str) -> Array:
        """The bytes of a tensor of a type that BLOCKS has, mapped: uint8 [row, byte]."""
        entry = self.tensors[name]
        rows = prod(entry.shape[:-1])
        size = rows * entry.block.row_bytes(entry.shape[-1])
        content = np.frombuffer(self._content[entry.offset : entry.offset + size], np.uint8)
        return content.reshape(rows, -1)


def _start(data: memoryview) -> tuple[Cursor, int, int]:
    """Where values begin, and how many tensors and values there are."""
    if bytes(data[:4]) != _MAGIC:
        raise Malformed("it does not begin with GGUF")
    cursor = Cursor(data, 4)
    version = cursor.u32("the version")
    if version not in _VERSIONS:
        known = " and ".join(map(str, _VERSIONS))
        raise Malformed(f"its version is {version}, and {known}, little-endian, are read")
    tensors = cursor.count("the number of tensors", _MIN_ENTRY)
    return cursor, tensors, cursor.count("the number of keys", _MIN_ENTRY)


def _metadata(cursor: Cursor, count: int) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for _ in range(count):
        key = cursor.string("a key")
        if key in found:
            raise Malformed(f"the key {key!r} is there twice")
        found[key] = cursor.value(cursor.u32(f"the type of {key!r}"), f"{key!r}")
    return found


def _alignment(metadata: Mapping[str, Value]) -> int:
    found = metadata.get("general.alignment", 32)
    if type(found) is not int or not 0 < found <= _MAX_ALIGNMENT or found & (found - 1):
        raise Malformed(
            f"general.alignment is {found!r}, and no power of two up to {_MAX_ALIGNMENT}"
        )
    return found


def _entry(cursor: Cursor, alignment: int) -> tuple[str, Entry]:
    name = cursor.string("a tensor's name")
    rank = cursor.u32(f"the rank of tensor {name!r}")
    if not 1 <= rank <= _MAX_DIMS:
        raise Malformed(f"tensor {name!r} has {rank} dimensions, and not 1 to {_MAX_DIMS}")
    # In the file the dimension whose elements are neighbours comes first.
    sizes = [cursor.u64(f"a size of tensor {name!r}") for _ in range(rank)][::-1]
    if min(sizes) < 1 or prod(sizes) > MAX_ELEMENTS:
        raise Malformed(f"tensor {name!r} has the impossible shape {sizes}")
    kind = cursor.u32(f"the type of tensor {name!r}")
    offset = cursor.u64(f"the offset of tensor {name!r}")
    if offset % alignment:
        raise Malformed(f"tensor {name!r} lies at {offset}, and not at a multiple of {alignment}")
    return name, Entry(tuple(sizes), kind, offset)


def _table(entries: list[tuple[str, Entry]]) -> dict[str, Entry]:
    table: dict[str, Entry] = {}
    for name, entry in entries:
        if name in table:
            raise Malformed(f"tensor {name!r} is there twice")
        table[name] = entry
    return table


def _check_bytes(name: str, entry: Entry, most: int) -> None:
    """Types that are unknown are refused when they are wanted, by who knows what for."""
    if entry.kind not in BLOCKS:
        return
    elements, width = entry.block.elements, entry.shape[-1]
    if width % elements:
        raise Malformed(
            f"tensor {name!r} has rows of {width}, and blocks of {name_of(entry.kind)} have "
            f"{elements} elements"
        )
    size = prod(entry.shape[:-1]) * entry.block.row_bytes(width)
    if entry.offset + size > most:
        raise Malformed(
            f"tensor {name!r} takes {size} bytes at {entry.offset}, and there are {most}"
        )
