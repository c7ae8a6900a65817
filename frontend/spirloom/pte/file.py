"""ExecuTorch files: programs (.pte) and programs with test cases (.bpte)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spec_model.flatbuffer import NOTHING, MalformedBuffer, Row, read
from spec_model.flatbuffer_schema import load
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array
from spirloom.mapped_file import damage_of, mapped, part_of, starts_with
from spirloom.torch.values import array_of, numpy_type, scalar_type

# ElementType of vk_graph.fbs.
_DELEGATE_DTYPES = ("bool", "uint8", "int8", "int32", "float16", "float32", "float64", "int64")


def delegate_dtype(number: int) -> str:
    """The dtype of an ElementType in a delegate's graph."""
    if not 0 <= number < len(_DELEGATE_DTYPES):
        raise MalformedBuffer(f"a tensor has the unknown element type {number}")
    return _DELEGATE_DTYPES[number]


def ordered_array(
    data: memoryview, dtype: str, shape: Sequence[int], order: Sequence[int], what: str
) -> Array:
    """An array over the first bytes of `data`, whose dimensions are stored in this order; without
    one, in their own. Raises Unsupported, MalformedBuffer."""
    own = list(range(len(shape)))
    order = list(order) or own
    if sorted(order) != own:
        raise MalformedBuffer(f"{what} has the invalid dim order {order}")
    numpy_type(dtype)  # refuses complex numbers
    stored = array_of(data, dtype, [shape[dim] for dim in order], what)
    return stored.transpose([order.index(dim) for dim in own])


PROGRAM = "schema/executorch/program.fbs"
BUNDLE = "schema/executorch/bundled_program.fbs"
_PROGRAM_ID, _BUNDLE_ID = b"ET12", b"BP08"
# After the identifier: magic, header size, program size, offset of the segments.
_HEADER = struct.Struct("<4sI2Q")
_HEADER_OFFSET = 8
_MAGIC = b"eh00"
_IN_SEGMENT = 1  # DataLocation


def is_program(path: Path) -> bool:
    """Whether a file is an ExecuTorch program, with or without test cases."""
    return any(starts_with(path, identifier, 4) for identifier in (_PROGRAM_ID, _BUNDLE_ID))


class ProgramFile:
    """A program with its constants, delegate data and test cases. Memory-mapped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cases: list[Row] = []  # one suite per method with test cases
        data = mapped(path)
        with damage_of(path, "an ExecuTorch program"):
            if bytes(data[4:8]) == _BUNDLE_ID:
                bundle = read(data, load(BUNDLE))
                self.cases = list(bundle["suites"])
                data = bundle["program"]
            self._read(data)

    def _read(self, data: memoryview) -> None:
        size, self._segments = len(data), memoryview(b"")
        if len(data) >= _HEADER_OFFSET + _HEADER.size:
            magic, _, program_size, base = _HEADER.unpack_from(data, _HEADER_OFFSET)
            if magic == _MAGIC:
                if max(program_size, base) > len(data):
                    raise MalformedBuffer(
                        f"its header states {program_size} bytes and a segment offset of {base}; "
                        f"the file has {len(data)} bytes"
                    )
                size = program_size
                self._segments = data[base:] if base else self._segments
        self.program = read(data[:size], load(PROGRAM))
        self._named: dict[str, int] = {}
        for named in self.program["named_data"]:
            self._named.setdefault(named["key"], named["segment"])

    @property
    def size(self) -> int:
        """The size of constants and delegate data in bytes."""
        inline = sum(len(b["bytes"]) for b in self.program["constants"])
        inline += sum(len(b["bytes"]) for b in self.program["delegate_data"])
        return inline + len(self._segments)

    def constant(self, index: int) -> memoryview:
        """The bytes from the start of a constant to the segment's end. Raises MalformedBuffer."""
        part = self.program["constant_segment"]
        if part is None or not part["offsets"]:
            found: memoryview = _at(self.program["constants"], index, "constant")["bytes"]
            return found
        return self.segment(part["segment"])[_at(part["offsets"], index, "constant") :]

    def initial_value(self, part: int, index: int) -> memoryview:
        """The bytes from the start of a mutable buffer's initial value to the segment's end."""
        found = _at(self.program["mutable_segments"], part, "segment of buffers")
        return self.segment(found["segment"])[_at(found["offsets"], index, "buffer") :]

    def delegate_data(self, reference: Row | None) -> memoryview:
        """The payload of a delegate."""
        if reference is None:
            raise MalformedBuffer("a delegate has no data")
        if reference["location"] == _IN_SEGMENT:
            return self.segment(reference["index"])
        row = _at(self.program["delegate_data"], reference["index"], "delegate's data")
        found: memoryview = row["bytes"]
        return found

    def named(self, key: str) -> memoryview | None:
        """The named data; None if the program has no such data."""
        return self.segment(self._named[key]) if key in self._named else None

    def segment(self, index: int) -> memoryview:
        """A segment of the file."""
        row = _at(self.program["segments"], index, "segment")
        return part_of(self._segments, row["offset"], row["size"], f"segment {index}")


def _at(rows: Sequence[Any], index: int, what: str) -> Any:
    """rows[index], with a bounds check."""
    if not 0 <= index < len(rows):
        raise MalformedBuffer(f"index {index} of a {what} is out of range of {len(rows)}")
    return rows[index]


@dataclass(frozen=True, slots=True)
class Case:
    """A test case. Non-tensor arguments are arrays of rank 0."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """The error of one output of a test case."""

    output: int
    max: float  # maximum absolute error; infinite if the shapes differ
    within: bool  # the tolerance


def cases_of(file: ProgramFile, method: str) -> list[Case]:
    """The test cases of a method. Raises ImportFailure."""
    rows = [case for s in file.cases if s["method"] == method for case in s["cases"]]
    try:
        return [Case(tuple(_arrays(row["inputs"])), tuple(_arrays(row["outputs"]))) for row in rows]
    except (MalformedBuffer, Unsupported) as error:
        raise ImportFailure(f"{file.path}: a case of '{method}' cannot be read: {error}.") from None


def _arrays(rows: Sequence[Row]) -> Iterator[Array]:
    for row in rows:
        kind, value = row["value"] or NOTHING
        if kind == "Null":
            raise MalformedBuffer("a case has a null value")
        if kind != "Tensor":
            yield np.asarray(value["value"])
            continue
        dtype, what = scalar_type(value["type"]), "a tensor of a case"
        yield ordered_array(value["bytes"], dtype, value["sizes"], value["dim_order"], what)


def differences(
    outputs: Sequence[Array], expected: Sequence[Array], rtol: float, atol: float
) -> Iterator[Difference]:
    """The error per output. The tolerance is |output - expected| <= atol + rtol * |expected|."""
    for index, (actual, reference) in enumerate(zip(outputs, expected, strict=True)):
        if actual.shape != reference.shape:
            yield Difference(index, float("inf"), False)
            continue
        with np.errstate(all="ignore"):
            a, b = actual.astype(np.float64), reference.astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            error = np.where(same, 0.0, np.abs(a - b))
        within = bool((same | (error <= atol + rtol * np.abs(b))).all())
        yield Difference(index, float(np.nan_to_num(error, nan=np.inf).max(initial=0)), within)
