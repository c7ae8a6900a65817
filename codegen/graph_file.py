"""Graph files (.slg, format: schema/graph.fbs) as the calls of operators they hold.

Needs nothing but Python. The file is hostile until checked: damage ends as MalformedBuffer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from codegen.expr.types import TensorType
from codegen.flatbuffer import (
    Field,
    MalformedBuffer,
    Scalar,
    String,
    Tables,
    Values,
    Vector,
    read,
)
from codegen.graph_sizes import GraphSizes, Point
from codegen.regular_file import open_regular
from codegen.vocabulary import MAX_RANK, DType, Storage

VERSION = 1
IDENTIFIER = b"SLG1"

_TENSOR = Tables(
    {
        0: String(),
        1: Scalar(1),
        2: Vector(8),
        3: Scalar(1),
        4: Scalar(4),
        5: Scalar(8),
        6: Scalar(8),
        7: Vector(4),
    }
)
_ARG = Tables({0: Scalar(1), 1: Vector(4), 2: Vector(8), 3: Scalar(8), 4: String(), 5: Vector(4)})
_NODE = Tables({0: String(), 1: _ARG, 2: Vector(4), 3: String(), 4: String()})
_SYMBOL = Tables({0: String(), 1: Scalar(8), 2: Scalar(8)})
_SIZE_TERM = Tables({0: Scalar(8), 1: Vector(4)})
_STATE = Tables({0: Scalar(4), 1: Scalar(4), 2: Scalar(4)})
_SIZE_EXPR = Tables({0: _SIZE_TERM, 1: Scalar(8)})
_ATTACHMENT = Tables({0: String(), 1: Vector(1)})
_METHOD_FIELDS: dict[int, Field] = {
    0: Scalar(4),
    1: _TENSOR,
    2: Vector(16),
    3: _NODE,
    4: Vector(4),
    5: Vector(4),
    6: String(),
    7: String(),
    8: _SYMBOL,
    9: _SIZE_EXPR,
    10: Vector(1),
    11: _STATE,
    12: String(),
    14: _ATTACHMENT,
}
GRAPH_FIELDS: dict[int, Field] = {**_METHOD_FIELDS, 13: Tables(_METHOD_FIELDS)}

_DTYPES: list[DType] = list(DType)
_STORAGES = {0: None} | {storage.code: storage for storage in Storage}


@dataclass(frozen=True, slots=True)
class Call:
    """A node: an op with every argument of its schema in order, as formulas see them."""

    op: str
    args: tuple[object, ...]  # TensorType, None for an absent tensor, tuples of TensorType, values
    storage: Storage | None  # where its outputs ask to live; None: the runtime chooses
    name: str  # for messages


def read_calls(path: Path) -> list[Call]:
    """The calls of a graph file, of all its methods; where sizes vary, at several of them.

    Raises MalformedBuffer for a damaged one, OSError.
    """
    with open_regular(path) as stream:
        head = stream.read(12)
        if len(head) < 12 or head[8:12] != IDENTIFIER:
            raise MalformedBuffer(f"the identifier {IDENTIFIER.decode()} is missing")
        size: int = struct.unpack_from("<I", head)[0]
        buffer = head + stream.read(max(0, size - 8))
    if len(buffer) < size + 4:
        raise MalformedBuffer(f"it has {len(buffer)} bytes, and says it has at least {size + 4}")
    root = read(buffer, 4, GRAPH_FIELDS)
    if root.get(0, 0) != VERSION:
        raise MalformedBuffer(f"its version is {root.get(0, 0)}, not {VERSION}")
    calls: dict[Call, None] = {}
    for method in (root, *root.get(13, [])):
        sizes = GraphSizes(method)
        for point in sizes.points():
            calls.update(dict.fromkeys(_Graph(method, sizes, point).calls()))
    return list(calls)


class _Inferred(Exception):
    """The file does not tell the shape of a tensor at the sizes at hand."""


class _Graph:
    """A graph at some sizes."""

    def __init__(self, root: Values, sizes: GraphSizes, point: Point) -> None:
        self._nodes = root.get(3, [])
        self._sizes = sizes
        self._point = point
        self._tensors = [self._tensor(i, row) for i, row in enumerate(root.get(1, []))]

    def calls(self) -> Iterator[Call]:
        """Those whose shapes are known."""
        for i, row in enumerate(self._nodes):
            with suppress(_Inferred):
                yield self._call(i, row)

    def _tensor(self, index: int, row: Values) -> TensorType | None:
        shape = self._sizes.at(_ints(row.get(2, b"")), row.get(7, b""), self._point)
        return None if shape is None else _tensor(index, row, shape)

    def _call(self, index: int, row: Values) -> Call:
        what = f"node {index} ({row.get(3, '')}, {row.get(0, '')})"
        outputs = _at(self._tensors, row.get(2, b""), what)
        storage = next((y.storage for y in outputs if y.storage is not None), None)
        args = tuple(self._arg(arg, what) for arg in row.get(1, []))
        return Call(row.get(0, ""), args, storage, what)

    def _arg(self, row: Values, what: str) -> object:
        ints = self._sizes.at(_ints(row.get(2, b"")), row.get(5, b""), self._point)
        return _arg(row, what, self._tensors, ints or ())


def _tensor(index: int, row: Values, shape: tuple[int, ...]) -> TensorType:
    dtype, storage = row.get(1, 0), row.get(3, 0)
    if len(shape) > MAX_RANK or min(shape, default=0) < 0:
        raise MalformedBuffer(f"tensor {index} has the impossible shape {list(shape)}")
    if dtype >= len(_DTYPES) or storage not in _STORAGES:
        raise MalformedBuffer(f"tensor {index} has dtype {dtype} and storage {storage}")
    return TensorType(shape, _DTYPES[dtype], _STORAGES[storage])


def _arg(
    row: Values, what: str, tensors: Sequence[TensorType | None], ints: tuple[int, ...]
) -> object:
    """The argument; its kinds are those of the schema's ArgKind."""
    operands = tuple(TensorType(t.shape, t.dtype) for t in _at(tensors, row.get(1, b""), what))
    match row.get(0, 0):
        case 0:
            return None
        case 1 if len(operands) == 1:
            return operands[0]
        case 2 if operands:
            return operands
        case 3 if len(ints) == 1:
            return ints[0]
        case 4:
            return cast(float, struct.unpack("<d", row.get(3, 0).to_bytes(8, "little"))[0])
        case 5 if len(ints) == 1:
            return bool(ints[0])
        case 6:
            return ints
        case 7:
            return cast(str, row.get(4, ""))
    raise MalformedBuffer(f"an argument of {what} has kind {row.get(0, 0)} and the wrong values")


def _at(tensors: Sequence[TensorType | None], indices: bytes, what: str) -> tuple[TensorType, ...]:
    numbers = struct.unpack(f"<{len(indices) // 4}I", indices)
    if max(numbers, default=-1) >= len(tensors):
        raise MalformedBuffer(f"{what} reads tensor {max(numbers)}, and there are {len(tensors)}")
    found = [tensors[number] for number in numbers]
    if None in found:
        raise _Inferred
    return tuple(tensor for tensor in found if tensor is not None)


def _ints(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 8}q", data)
