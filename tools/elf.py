"""Reads the parts of a 64-bit little-endian ELF shared library that a package must check."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine

_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NEEDED, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT = 1, 5, 6, 10, 11
_DT_TEXTREL, _DT_FLAGS, _DF_TEXTREL = 22, 30, 4
_SHT_DYNSYM = 11


class ElfError(Exception):
    """The file is not a shared library of the expected kind; the message names it."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A loaded segment. Sizes in bytes."""

    offset: int
    address: int
    file_size: int
    alignment: int


@dataclass(frozen=True, slots=True)
class SharedLibrary:
    """Properties of a shared library."""

    machine: str  # of MACHINES
    segments: tuple[Segment, ...]
    needed: tuple[str, ...]  # names of other libraries
    exported: tuple[str, ...]  # defined dynamic symbols, sorted
    has_text_relocations: bool

    @property
    def page_alignment(self) -> int:
        """The largest page size in bytes with which the library can be loaded."""
        return min(segment.alignment for segment in self.segments)


def read_shared_library(path: Path) -> SharedLibrary:
    """Reads a library. Raises ElfError if it is malformed or not for one of MACHINES."""
    data = path.read_bytes()
    try:
        return _Reader(data).library()
    except (struct.error, OverflowError, UnicodeDecodeError, ValueError) as error:
        raise ElfError(f"'{path}' is not a 64-bit ELF shared library: {error}.") from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        if data[:7] != b"\x7fELF\x02\x01\x01":
            raise ValueError("the header is another one")
        self._data = data
        kind, machine = struct.unpack_from("<HH", data, 16)
        if kind != 3:
            raise ValueError(f"its type is {kind}, expected 3 (ET_DYN)")
        if machine not in MACHINES:
            raise ValueError(f"the machine {machine} is not one of {sorted(MACHINES)}")
        self._machine = MACHINES[machine]
        self._segments_at, self._sections_at = struct.unpack_from("<QQ", data, 32)
        self._segment_size, self._segment_count = struct.unpack_from("<HH", data, 54)
        self._section_size, self._section_count = struct.unpack_from("<HH", data, 58)

    def library(self) -> SharedLibrary:
        headers = list(self._program_headers())
        segments = tuple(segment for kind, segment in headers if kind == _PT_LOAD)
        if not segments:
            raise ValueError("it has no loaded segment")
        dynamic = [segment for kind, segment in headers if kind == _PT_DYNAMIC]
        tags = list(self._tags(dynamic[0])) if dynamic else []
        values = dict(tags)
        names = self._text(segments, values)
        return SharedLibrary(
            machine=self._machine,
            segments=segments,
            needed=tuple(_name(names, value) for tag, value in tags if tag == _DT_NEEDED),
            exported=tuple(sorted(_name(names, at) for at in self._defined())),
            has_text_relocations=_DT_TEXTREL in values
            or bool(values.get(_DT_FLAGS, 0) & _DF_TEXTREL),
        )

    def _program_headers(self) -> Iterator[tuple[int, Segment]]:
        for i in range(self._segment_count):
            at = self._segments_at + i * self._segment_size
            kind, _, offset, address, _, size, _, alignment = struct.unpack_from(
                "<IIQQQQQQ", self._data, at
            )
            yield kind, Segment(offset, address, size, alignment)

    def _tags(self, dynamic: Segment) -> Iterator[tuple[int, int]]:
        for at in range(dynamic.offset, dynamic.offset + dynamic.file_size, 16):
            tag, value = struct.unpack_from("<QQ", self._data, at)
            if tag == 0:
                return
            yield tag, value

    def _text(self, segments: tuple[Segment, ...], values: dict[int, int]) -> bytes:
        """The names of libraries and symbols."""
        if _DT_STRTAB not in values:
            return b"\0"
        address, size = values[_DT_STRTAB], values[_DT_STRSZ]
        for segment in segments:
            if segment.address <= address < segment.address + segment.file_size:
                at = segment.offset + address - segment.address
                return self._data[at : at + size]
        raise ValueError("the string table is not in a segment")

    def _defined(self) -> Iterator[int]:
        """Offsets of the names of defined global symbols."""
        for i in range(self._section_count):
            at = self._sections_at + i * self._section_size
            _, kind, _, _, offset, size = struct.unpack_from("<IIQQQQ", self._data, at)
            if kind != _SHT_DYNSYM:
                continue
            for symbol in range(offset, offset + size, 24):
                name, info, _, section = struct.unpack_from("<IBBH", self._data, symbol)
                if section != 0 and info >> 4 in (1, 2):  # global, weak
                    yield name


def _name(names: bytes, at: int) -> str:
    return names[at : names.index(b"\0", at)].decode()
