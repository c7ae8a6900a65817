"""The files: where a program's parts lie in a .pte, and the program and its cases in a .bpte."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codegen.flatbuffer import MalformedBuffer
from codegen.regular_file import open_regular
from spirloom.errors import ImportFailure
from spirloom.pte.flatbuffer import Row, read
from spirloom.pte.schema import load

PROGRAM = "schema/executorch/program.fbs"
BUNDLE = "schema/executorch/bundled_program.fbs"
_PROGRAM_ID, _BUNDLE_ID = b"ET12", b"BP08"
# Behind the identifier: what it is, its own length; then sizes and the segments' base.
_HEADER = struct.Struct("<4sI2Q")
_HEADER_AT = 8
_MAGIC = b"eh00"


def is_program(path: Path) -> bool:
    """Whether a file is a program of ExecuTorch, with cases or without."""
    try:
        with open_regular(path) as stream:
            return stream.read(8)[4:] in (_PROGRAM_ID, _BUNDLE_ID)
    except OSError:
        return False  # whoever reads it says why


class ProgramFile:
    """A program, its constants, its delegates' data and its cases. All of it is read on demand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cases: list[Row] = []  # of each method that has some
        try:
            with open_regular(path) as stream:
                data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ImportFailure(f"Cannot read {path}: {reason}.") from error
        try:
            if bytes(data[4:8]) == _BUNDLE_ID:
                bundle = read(data, load(BUNDLE))
                self.cases = list(bundle["suites"])
                data = bundle["program"]
            self._read(data)
        except MalformedBuffer as error:
            raise ImportFailure(
                f"{path} is damaged or no program of ExecuTorch: {error}."
            ) from None

    def _read(self, data: memoryview) -> None:
        size, self._segments = len(data), memoryview(b"")
        if len(data) >= _HEADER_AT + _HEADER.size:
            magic, _, program_size, base = _HEADER.unpack_from(data, _HEADER_AT)
            if magic == _MAGIC:
                if max(program_size, base) > len(data):
                    raise MalformedBuffer(f"its header says {program_size} and {base} bytes")
                size = program_size
                self._segments = data[base:] if base else self._segments
        self.program = read(data[:size], load(PROGRAM))
        self._named: dict[str, int] = {}
        for named in self.program["named_data"]:
            self._named.setdefault(named["key"], named["segment"])

    @property
    def size(self) -> int:
        """Bytes of what it holds beside the program's text."""
        inline = sum(len(b["bytes"]) for b in self.program["constants"])
        inline += sum(len(b["bytes"]) for b in self.program["delegate_data"])
        return inline + len(self._segments)

    def constant(self, index: int) -> memoryview:
        """The bytes of a constant and all that lies behind them. Raises MalformedBuffer."""
        part = self.program["constant_segment"]
        if part is None or not part["offsets"]:
            found: memoryview = _at(self.program["constants"], index, "constant")["bytes"]
            return found
        return self.segment(part["segment"])[_at(part["offsets"], index, "constant") :]

    def first_value(self, part: int, index: int) -> memoryview:
        """What a buffer that runs change holds first, and all that lies behind it."""
        found = _at(self.program["mutable_segments"], part, "segment of buffers")
        return self.segment(found["segment"])[_at(found["offsets"], index, "buffer") :]

    def delegate_data(self, reference: Row | None) -> memoryview:
        """What a delegate was made of."""
        if reference is None:
            raise MalformedBuffer("a delegate has no data")
        if reference["place"] == 1:
            return self.segment(reference["index"])
        row = _at(self.program["delegate_data"], reference["index"], "delegate's data")
        found: memoryview = row["bytes"]
        return found

    def named(self, key: str) -> memoryview | None:
        """The data of a name; None if the program has none."""
        return self.segment(self._named[key]) if key in self._named else None

    def segment(self, index: int) -> memoryview:
        """A segment of the file."""
        row = _at(self.program["segments"], index, "segment")
        first, end = row["offset"], row["offset"] + row["size"]
        if end > len(self._segments):
            raise MalformedBuffer(
                f"segment {index} ends at {end}, beyond the segments' {len(self._segments)} bytes"
            )
        return self._segments[first:end]


def _at(rows: Sequence[Any], index: int, what: str) -> Any:
    """An item of a list, by an index that the file gives."""
    if not 0 <= index < len(rows):
        raise MalformedBuffer(f"{what} {index} is asked for, and there are {len(rows)}")
    return rows[index]
