"""Reads memory-mapped GGUF files (version 2 and 3). Every size is checked before use."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from spec_model.flatbuffer import MalformedBuffer
from spirloom.gguf.blocks import BLOCKS, Block, type_name
from spirloom.ir import MAX_ELEMENTS, Array
from spirloom.mapped_file import array_in, damage_of, mapped, part_of, starts_with

Value = int | float | bool | str | list[Any] | Array

_STRING, _ARRAY, _BOOL = 8, 9, 7
# NumPy's types by their id in the file.
_NUMPY_TYPES = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", _BOOL: "<u1",
    10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
_MAX_ARRAY_DEPTH = 4  # nesting of arrays
_U64 = struct.Struct("<Q")
_MIN_VALUE_BYTES = {_STRING: 8, _ARRAY: 12}


class Cursor:
    """A read position in a file's bytes. Reads raise MalformedBuffer for invalid content."""

    def __init__(self, data: memoryview, at: int) -> None:
        self.at = at
        self._data = data

    @property
    def left(self) -> int:
        """The remaining bytes."""
        return len(self._data) - self.at

    def u32(self, what: str) -> int:
        """Reads a uint32."""
        return int(struct.unpack("<I", self._take(4, what))[0])

    def u64(self, what: str) -> int:
        """Reads a uint64."""
        return int(struct.unpack("<Q", self._take(8, what))[0])

    def count(self, what: str, min_bytes: int) -> int:
        """Reads a count of items that need at least `min_bytes` each."""
        found = self.u64(what)
        if found > self.left // min_bytes:
            raise MalformedBuffer(f"{what} is {found}, but only {self.left} bytes remain")
        return found

    def string(self, what: str) -> str:
        """Reads a length-prefixed string."""
        size = self.count(f"the length of {what}", 1)
        # Tokens of byte-level vocabularies may be incomplete UTF-8.
        return bytes(self._take(size, what)).decode("utf-8", errors="replace")

    def value(self, kind: int, what: str, depth: int = 0) -> Value:
        """Reads a value of the type with this id."""
        if kind == _STRING:
            return self.string(what)
        if kind == _ARRAY:
            return self._array(what, depth)
        dtype = np.dtype(_numpy_type(kind, what))
        value = np.frombuffer(self._take(dtype.itemsize, what), dtype)[0].item()
        return bool(value) if kind == _BOOL else value

    def _array(self, what: str, depth: int) -> list[Any] | Array:
        """Reads numbers as an array, other elements as a list."""
        kind = self.u32(f"the type of the elements of {what}")
        if kind not in _MIN_VALUE_BYTES:
            dtype = np.dtype(_numpy_type(kind, what))
            count = self.count(f"the length of {what}", dtype.itemsize)
            return np.frombuffer(self._take(count * dtype.itemsize, what), dtype)
        if depth == _MAX_ARRAY_DEPTH:
            raise MalformedBuffer(
                f"{what} has more than {_MAX_ARRAY_DEPTH} levels of nested arrays"
            )
        count = self.count(f"the length of {what}", _MIN_VALUE_BYTES[kind])
        if kind == _STRING:
            return self._strings(count, what)
        return [self.value(kind, what, depth + 1) for _ in range(count)]

    def _strings(self, count: int, what: str) -> list[str]:
        """Reads strings as string() does, without calls for each: a vocabulary has 100,000."""
        data, at, end, found = self._data, self.at, len(self._data), []
        for _ in range(count):
            begin = at + _U64.size
            size = _U64.unpack_from(data, at)[0] if begin <= end else 0
            if begin + size > end:
                self.at = at
                self.string(what)  # raises MalformedBuffer
            at = begin + size
            found.append(str(data[begin:at], "utf-8", "replace"))
        self.at = at
        return found

    def _take(self, size: int, what: str) -> memoryview:
        found = part_of(self._data, self.at, size, what)
        self.at += size
        return found


def _numpy_type(kind: int, what: str) -> str:
    if kind not in _NUMPY_TYPES:
        raise MalformedBuffer(f"{what} has type id {kind}, which is not in 0 … 12")
    return _NUMPY_TYPES[kind]


_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_DIMS = 4
_MIN_ENTRY = 8 + 4 + 1  # bytes of an entry: name length, type or rank, content
_MAX_ALIGNMENT = 1 << 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor of a file: rows of blocks along the last dimension, at `offset` of the data."""

    shape: tuple[int, ...]
    kind: int
    offset: int

    @property
    def block(self) -> Block:
        """The block format of the tensor's type."""
        return BLOCKS[self.kind]


def is_gguf(path: Path) -> bool:
    """Whether a file starts with GGUF's magic number."""
    return starts_with(path, _MAGIC)


class GgufFile:
    """The `metadata` and `tensors` of a file; `rows_of` returns a tensor's bytes."""

    def __init__(self, path: Path) -> None:
        """Raises ImportFailure."""
        self.path = path
        data = mapped(path)
        with damage_of(path, "a GGUF file"):
            cursor, tensors, values = _header(data)
            self.metadata = _metadata(cursor, values)
            alignment = _alignment(self.metadata)
            entries = [_entry(cursor, alignment) for _ in range(tensors)]
            self.tensors = _table(entries)
            begin = cursor.at + -cursor.at % alignment
            self._content = data[min(begin, len(data)) :]
            for name, entry in self.tensors.items():
                _check_bytes(name, entry, self._content)

    def rows_of(self, name: str) -> Array:
        """The mapped bytes of a tensor whose type is in BLOCKS, uint8 [row, byte]."""
        entry = self.tensors[name]
        shape = prod(entry.shape[:-1]), entry.block.row_bytes(entry.shape[-1])
        return array_in(self._content, entry.offset, np.dtype(np.uint8), shape, name)


def _header(data: memoryview) -> tuple[Cursor, int, int]:
    """The position of the metadata, the number of tensors and the number of keys."""
    if bytes(data[:4]) != _MAGIC:
        raise MalformedBuffer("it does not start with 'GGUF'")
    cursor = Cursor(data, 4)
    version = cursor.u32("the version")
    if version not in _VERSIONS:
        known = " and ".join(map(str, _VERSIONS))
        raise MalformedBuffer(f"its version is {version}; supported are {known}, little-endian")
    tensors = cursor.count("the number of tensors", _MIN_ENTRY)
    return cursor, tensors, cursor.count("the number of keys", _MIN_ENTRY)


def _metadata(cursor: Cursor, count: int) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for _ in range(count):
        key = cursor.string("a key")
        if key in found:
            raise MalformedBuffer(f"the key {key!r} occurs twice")
        found[key] = cursor.value(cursor.u32(f"the type of {key!r}"), f"{key!r}")
    return found


def _alignment(metadata: Mapping[str, Value]) -> int:
    found = metadata.get("general.alignment", 32)
    if type(found) is not int or not 0 < found <= _MAX_ALIGNMENT or found & (found - 1):
        raise MalformedBuffer(
            f"general.alignment is {found!r}, which is not a power of two up to {_MAX_ALIGNMENT}"
        )
    return found


def _entry(cursor: Cursor, alignment: int) -> tuple[str, Entry]:
    name = cursor.string("a tensor's name")
    rank = cursor.u32(f"the rank of tensor {name!r}")
    if not 1 <= rank <= _MAX_DIMS:
        raise MalformedBuffer(f"tensor {name!r} has rank {rank}, which is not in 1 … {_MAX_DIMS}")
    # In the file the contiguous dimension comes first.
    sizes = [cursor.u64(f"a size of tensor {name!r}") for _ in range(rank)][::-1]
    if min(sizes) < 1 or prod(sizes) > MAX_ELEMENTS:
        raise MalformedBuffer(f"tensor {name!r} has the invalid shape {sizes}")
    kind = cursor.u32(f"the type of tensor {name!r}")
    offset = cursor.u64(f"the offset of tensor {name!r}")
    if offset % alignment:
        raise MalformedBuffer(f"tensor {name!r} has offset {offset}, not a multiple of {alignment}")
    return name, Entry(tuple(sizes), kind, offset)


def _table(entries: list[tuple[str, Entry]]) -> dict[str, Entry]:
    table: dict[str, Entry] = {}
    for name, entry in entries:
        if name in table:
            raise MalformedBuffer(f"tensor {name!r} occurs twice")
        table[name] = entry
    return table


def _check_bytes(name: str, entry: Entry, content: memoryview) -> None:
    """Raises MalformedBuffer for a tensor beyond the data. Unknown types are refused when read."""
    if entry.kind not in BLOCKS:
        return
    elements, width = entry.block.elements, entry.shape[-1]
    if width % elements:
        raise MalformedBuffer(
            f"tensor {name!r} has rows of {width} elements, not a multiple of the {elements} of a "
            f"{type_name(entry.kind)} block"
        )
    size = prod(entry.shape[:-1]) * entry.block.row_bytes(width)
    part_of(content, entry.offset, size, f"tensor {name!r}")
