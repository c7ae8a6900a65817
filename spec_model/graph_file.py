"""Graph files (.slg, format: schema/graph.fbs) read as calls of operators.

Requires only the standard library. Files are verified: a damaged one raises MalformedBuffer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from spec_model.expr.types import TensorType
from spec_model.files import open_regular
from spec_model.flatbuffer import MalformedBuffer, Row, read
from spec_model.flatbuffer_schema import load
from spec_model.graph_sizes import GraphSizes, Point
from spec_model.vocabulary import MAX_RANK, DType, Storage

SCHEMA = load("schema/graph.fbs")
VERSION = SCHEMA.enums["FormatVersion"]["Current"]
FEATURES = tuple(SCHEMA.enums["Feature"])
IDENTIFIER = SCHEMA.identifier
SIZE_PREFIX = 4  # bytes before the FlatBuffer, which hold its size


class ArgKind(IntEnum):
    """The kinds of arguments, by their code in files."""

    NONE, TENSOR, TENSOR_LIST, INT, FLOAT, BOOL, INTS, STRING = range(8)


_DTYPES: list[DType] = list(DType)
_STORAGES = {0: None} | {storage.code: storage for storage in Storage}


@dataclass(frozen=True, slots=True)
class Call:
    """A node: an op with every argument of its schema in order, as values of formulas."""

    op: str
    args: tuple[object, ...]  # TensorType, None for an absent tensor, tuples of TensorType, values
    storage: Storage | None  # requested for its outputs; None: the runtime chooses
    name: str  # for messages


def buffer_size(head: bytes | memoryview) -> int:
    """The size of the FlatBuffer and its prefix, by the first bytes of a file. Raises
    MalformedBuffer.
    """
    if len(head) < 12 or bytes(head[8:12]) != IDENTIFIER:
        raise MalformedBuffer(f"the identifier {IDENTIFIER.decode()} is missing")
    size: int = struct.unpack_from("<I", head)[0]
    return size + SIZE_PREFIX


def root_of(data: bytes | memoryview) -> Row:
    """The root table of a graph file, whose constants may be absent. Raises MalformedBuffer."""
    size = buffer_size(data)
    if len(data) < size:
        raise MalformedBuffer(f"it has {len(data)} bytes, and states at least {size}")
    root = read(memoryview(data)[:size], SCHEMA, SIZE_PREFIX)
    if root["version"] != VERSION:
        raise MalformedBuffer(
            f"it has format version {root['version']}; this release reads {VERSION}"
        )
    unknown = [name for name in root["required_features"] if name not in FEATURES]
    if unknown:
        raise MalformedBuffer(
            f"it requires {', '.join(map(repr, unknown))}; this release supports "
            f"{', '.join(FEATURES)}"
        )
    return root


def read_calls(path: Path) -> list[Call]:
    """The calls of all methods of a graph file; with dynamic shapes, at several sizes.

    Raises MalformedBuffer or OSError.
    """
    with open_regular(path) as stream:
        head = stream.read(12)
        return calls_in(head + stream.read(buffer_size(head) - len(head)))


def calls_in(data: bytes) -> list[Call]:
    """The calls of a graph file in memory. The constants at its end may be absent."""
    root = root_of(data)
    calls: dict[Call, None] = {}
    for method in (root, *root["methods"]):
        sizes = GraphSizes(method)
        for point in sizes.points():
            calls.update(dict.fromkeys(_Graph(method, sizes, point).calls()))
    return list(calls)


class _Inferred(Exception):
    """The file does not contain the shape of a tensor at the given sizes."""


class _Graph:
    """A graph at one point of sizes."""

    def __init__(self, root: Row, sizes: GraphSizes, point: Point) -> None:
        self._nodes = root["nodes"]
        self._sizes = sizes
        self._point = point
        self._tensors = [self._tensor(i, row) for i, row in enumerate(root["tensors"])]

    def calls(self) -> Iterator[Call]:
        """The calls with known shapes."""
        for i, row in enumerate(self._nodes):
            with suppress(_Inferred):
                yield self._call(i, row)

    def _tensor(self, index: int, row: Row) -> TensorType | None:
        what = f"tensor {index}"
        shape = self._sizes.at(row["shape"], row["sizes"], self._point, what)
        return None if shape is None else _tensor(index, row, shape)

    def _call(self, index: int, row: Row) -> Call:
        what = f"node {index} ({row['name']}, {row['op']})"
        outputs = _at(self._tensors, row["outputs"], what)
        storage = next((y.storage for y in outputs if y.storage is not None), None)
        args = tuple(self._arg(arg, what) for arg in row["args"])
        return Call(row["op"], args, storage, what)

    def _arg(self, row: Row, what: str) -> object:
        ints = self._sizes.at(row["ints"], row["sizes"], self._point, f"an argument of {what}")
        return _arg(row, what, self._tensors, ints or ())


def _tensor(index: int, row: Row, shape: tuple[int, ...]) -> TensorType:
    dtype, storage = row["dtype"], row["storage"]
    if len(shape) > MAX_RANK or min(shape, default=0) < 0:
        raise MalformedBuffer(f"tensor {index} has the invalid shape {list(shape)}")
    if dtype >= len(_DTYPES) or storage not in _STORAGES:
        raise MalformedBuffer(f"tensor {index} has the invalid dtype {dtype} or storage {storage}")
    return TensorType(shape, _DTYPES[dtype], _STORAGES[storage])


def _arg(
    row: Row, what: str, tensors: Sequence[TensorType | None], ints: tuple[int, ...]
) -> object:
    """The argument."""
    operands = tuple(TensorType(t.shape, t.dtype) for t in _at(tensors, row["tensors"], what))
    match row["kind"]:
        case ArgKind.NONE:
            return None
        case ArgKind.TENSOR if len(operands) == 1:
            return operands[0]
        case ArgKind.TENSOR_LIST if operands:
            return operands
        case ArgKind.INT if len(ints) == 1:
            return ints[0]
        case ArgKind.FLOAT:
            return float(row["float_value"])
        case ArgKind.BOOL if len(ints) == 1:
            return bool(ints[0])
        case ArgKind.INTS:
            return ints
        case ArgKind.STRING:
            return str(row["string_value"])
    raise MalformedBuffer(f"an argument of {what} has invalid values for kind {row['kind']}")


def _at(
    tensors: Sequence[TensorType | None], indices: Sequence[int], what: str
) -> tuple[TensorType, ...]:
    if max(indices, default=-1) >= len(tensors):
        raise MalformedBuffer(f"{what} reads tensor {max(indices)} of {len(tensors)}")
    found = [tensors[index] for index in indices]
    if None in found:
        raise _Inferred
    return tuple(tensor for tensor in found if tensor is not None)
