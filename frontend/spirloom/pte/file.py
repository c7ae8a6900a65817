"""ExecuTorch files: the program in a .pte, and the program with its cases in a .bpte."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from codegen.flatbuffer import MalformedBuffer
from codegen.regular_file import open_regular
from spirloom.bfloat16 import from_bfloat16
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array, is_possible
from spirloom.pte.flatbuffer import NOTHING, Row, load, read
from spirloom.torch.values import BFLOAT16, numpy_type

# torch's ScalarType.
_OF_PROGRAMS = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32",
    7: "float64", 8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16",
    27: "uint16",
}  # fmt: skip
# Those of vk_graph.fbs.
_OF_DELEGATES = ("bool", "uint8", "int8", "int32", "float16", "float32", "float64", "int64")


def of_program(number: int) -> str:
    """The type of a tensor of a program, or a name of no type."""
    return _OF_PROGRAMS.get(number, f"of number {number}")


def of_delegate(number: int) -> str:
    """The type of a tensor of a delegate's graph."""
    if not 0 <= number < len(_OF_DELEGATES):
        raise MalformedBuffer(f"a tensor has the element type {number}")
    return _OF_DELEGATES[number]


def array_of(data: memoryview, dtype: str, shape: tuple[int, ...], what: str) -> Array:
    """The first bytes of `data` as an array. Raises Unsupported, MalformedBuffer."""
    if not is_possible(shape):
        raise MalformedBuffer(f"{what} has the impossible sizes {list(shape)}")
    stored = np.dtype(np.uint16) if dtype == BFLOAT16 else numpy_type(dtype)
    wanted = prod(shape) * stored.itemsize
    if wanted > len(data):
        raise MalformedBuffer(f"{what} needs {wanted} bytes, and there are {len(data)}")
    flat = np.frombuffer(data, stored.newbyteorder("<"), prod(shape))
    if stored == np.bool_:
        flat = flat.view(np.uint8) != 0
    seen = flat.reshape(shape)
    return from_bfloat16(seen) if dtype == BFLOAT16 else seen


def check_type(dtype: str) -> None:
    """Raises Unsupported for a type that there is not here."""
    numpy_type(dtype)


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


@dataclass(frozen=True, slots=True)
class Case:
    """Arrays; of an argument that is no tensor, its value in an array of rank 0."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """How far an output is from what it should be."""

    output: int
    greatest: float  # absolute; infinite where the shapes differ
    within: bool


def cases_of(file: ProgramFile, method: str) -> list[Case]:
    """Those of a method. Raises ImportFailure."""
    rows = [case for s in file.cases if s["method"] == method for case in s["cases"]]
    try:
        return [Case(tuple(_arrays(row["inputs"])), tuple(_arrays(row["outputs"]))) for row in rows]
    except (MalformedBuffer, Unsupported) as error:
        raise ImportFailure(f"{file.path}: a case of '{method}' cannot be read: {error}.") from None


def _arrays(rows: Sequence[Row]) -> Iterator[Array]:
    for row in rows:
        kind, value = row["value"] or NOTHING
        if kind == "Null":
            raise MalformedBuffer("a value of a case is none")
        if kind != "Tensor":
            yield np.asarray(value["value"])
            continue
        shape = tuple(value["sizes"])
        order = list(value["dim_order"]) or list(range(len(shape)))
        if sorted(order) != list(range(len(shape))):
            raise MalformedBuffer(f"a tensor of a case has the order of dims {order}")
        stored = tuple(shape[dim] for dim in order)
        array = array_of(value["bytes"], of_program(value["type"]), stored, "a tensor of a case")
        yield array.transpose([order.index(dim) for dim in range(len(order))])


def differences(
    given: Sequence[Array], wanted: Sequence[Array], rtol: float, atol: float
) -> Iterator[Difference]:
    """Of each output: |given − wanted| is within atol + rtol · |wanted|, or how far it is not."""
    for place, (ours, theirs) in enumerate(zip(given, wanted, strict=True)):
        if ours.shape != theirs.shape:
            yield Difference(place, float("inf"), False)
            continue
        with np.errstate(all="ignore"):
            a, b = ours.astype(np.float64), theirs.astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            far = np.where(same, 0.0, np.abs(a - b))
        within = bool((same | (far <= atol + rtol * np.abs(b))).all())
        yield Difference(place, float(np.nan_to_num(far, nan=np.inf).max(initial=0)), within)
