"""Reads GGUF files (version 2 and 3), mapped; a file is hostile until checked."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from codegen.regular_file import open_regular
from spirloom.errors import ImportFailure
from spirloom.gguf.blocks import BLOCKS, Block, name_of
from spirloom.gguf.cursor import Cursor, Malformed, Value
from spirloom.ir import MAX_ELEMENTS, Array

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MOST_DIMS = 4
_LEAST_ENTRY = 8 + 4 + 1  # bytes of a key's or a tensor's length, type or rank, and what follows
_MOST_ALIGNMENT = 1 << 20


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
    tensors = cursor.count("the number of tensors", _LEAST_ENTRY)
    return cursor, tensors, cursor.count("the number of keys", _LEAST_ENTRY)


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
    if type(found) is not int or not 0 < found <= _MOST_ALIGNMENT or found & (found - 1):
        raise Malformed(
            f"general.alignment is {found!r}, and no power of two up to {_MOST_ALIGNMENT}"
        )
    return found


def _entry(cursor: Cursor, alignment: int) -> tuple[str, Entry]:
    name = cursor.string("a tensor's name")
    rank = cursor.u32(f"the rank of tensor {name!r}")
    if not 1 <= rank <= _MOST_DIMS:
        raise Malformed(f"tensor {name!r} has {rank} dimensions, and not 1 to {_MOST_DIMS}")
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
