"""Graph files (.slg, format: schema/graph.fbs) read as calls of operators.

Requires only the standard library. Files are verified: a damaged one raises MalformedBuffer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import cast

from spec_model.expr.types import TensorType
from spec_model.files import open_regular
from spec_model.flatbuffer import (
    Field,
    MalformedBuffer,
    Scalar,
    String,
    Tables,
    Values,
    Vector,
    read,
)
from spec_model.vocabulary import MAX_RANK, DType, Storage

VERSION = 2  # FormatVersion.Current of schema/graph.fbs
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
_ARG = Tables(
    {
        0: Scalar(1),
        1: Vector(4),
        2: Vector(8),
        3: Scalar(8),
        4: String(),
        5: Vector(4),
        6: Scalar(4),
    }
)
_NODE = Tables({0: String(), 1: _ARG, 2: Vector(4), 3: String(), 4: String()})
_SYMBOL = Tables({0: String(), 1: Scalar(8), 2: Scalar(8)})
_SIZE_TERM = Tables({0: Scalar(8), 1: Vector(4), 2: Vector(4)})
_STATE = Tables({0: Scalar(4), 1: Scalar(4), 2: Scalar(4)})
_SIZE_EXPR = Tables({0: _SIZE_TERM, 1: Scalar(8), 2: Scalar(1)})
_NUMBER_EXPR = Tables({0: Scalar(1), 1: Scalar(8), 2: Scalar(4), 3: Vector(4)})
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
    16: _NUMBER_EXPR,
}
GRAPH_FIELDS: dict[int, Field] = {**_METHOD_FIELDS, 13: Tables(_METHOD_FIELDS)}

_DTYPES: list[DType] = list(DType)
_STORAGES = {0: None} | {storage.code: storage for storage in Storage}


@dataclass(frozen=True, slots=True)
class Call:
    """A node: an op with every argument of its schema in order, as values of formulas."""

    op: str
    args: tuple[object, ...]  # TensorType, None for an absent tensor, tuples of TensorType, values
    storage: Storage | None  # requested for its outputs; None: the runtime chooses
    name: str  # for messages


def check_version(version: int) -> None:
    """Raises MalformedBuffer for a file of another format version."""
    if version != VERSION:
        raise MalformedBuffer(f"it has format version {version}; this release reads {VERSION}")


def read_calls(path: Path) -> list[Call]:
    """The calls of all methods of a graph file; with dynamic shapes, at several sizes.

    Raises MalformedBuffer or OSError.
    """
    with open_regular(path) as stream:
        head = stream.read(12)
        size = struct.unpack_from("<I", head)[0] if len(head) == 12 else 0
        return calls_in(head + stream.read(max(0, size - 8)))


def calls_in(data: bytes) -> list[Call]:
    """The calls of a graph file in memory. The constants at its end may be absent."""
    if len(data) < 12 or data[8:12] != IDENTIFIER:
        raise MalformedBuffer(f"the identifier {IDENTIFIER.decode()} is missing")
    size: int = struct.unpack_from("<I", data)[0]
    buffer = data[: size + 4]
    if len(buffer) < size + 4:
        raise MalformedBuffer(
            f"it has {len(buffer)} bytes; its header requires at least {size + 4}"
        )
    root = read(buffer, 4, GRAPH_FIELDS)
    check_version(root.get(0, 0))
    calls: dict[Call, None] = {}
    for method in (root, *root.get(13, [])):
        sizes = GraphSizes(method)
        for point in sizes.points():
            calls.update(dict.fromkeys(_Graph(method, sizes, point).calls()))
    return list(calls)


class _Inferred(Exception):
    """The file does not contain the shape of a tensor at the given sizes."""


class _Graph:
    """A graph at one point of sizes."""

    def __init__(self, root: Values, sizes: GraphSizes, point: Point) -> None:
        self._nodes = root.get(3, [])
        self._sizes = sizes
        self._point = point
        self._tensors = [self._tensor(i, row) for i, row in enumerate(root.get(1, []))]

    def calls(self) -> Iterator[Call]:
        """The calls with known shapes."""
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
        raise MalformedBuffer(f"tensor {index} has the invalid shape {list(shape)}")
    if dtype >= len(_DTYPES) or storage not in _STORAGES:
        raise MalformedBuffer(f"tensor {index} has the invalid dtype {dtype} or storage {storage}")
    return TensorType(shape, _DTYPES[dtype], _STORAGES[storage])


def _arg(
    row: Values, what: str, tensors: Sequence[TensorType | None], ints: tuple[int, ...]
) -> object:
    """The argument. Kinds are the values of ArgKind in the schema."""
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
    raise MalformedBuffer(f"an argument of {what} has invalid values for kind {row.get(0, 0)}")


def _at(tensors: Sequence[TensorType | None], data: bytes, what: str) -> tuple[TensorType, ...]:
    indices = struct.unpack(f"<{len(data) // 4}I", data)
    if max(indices, default=-1) >= len(tensors):
        raise MalformedBuffer(f"{what} reads tensor {max(indices)} of {len(tensors)}")
    found = [tensors[index] for index in indices]
    if None in found:
        raise _Inferred
    return tuple(tensor for tensor in found if tensor is not None)


def _ints(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 8}q", data)


# Instead of the index of an expression: shape inference computes the size.
INFERRED = (1 << 32) - 1
# Consecutive sizes in addition to the maximum: they cover every remainder modulo 4.
_CONSECUTIVE = 5
_MAX_POINTS = 256

Point = tuple[int, ...]  # the size of each symbol


class GraphSizes:
    """The symbols and expressions of a graph file's root table."""

    def __init__(self, root: Values) -> None:
        bounds = [(_signed(s.get(1, 0)), _signed(s.get(2, 0))) for s in root.get(8, [])]
        if any(not 0 <= low <= high for low, high in bounds):
            raise MalformedBuffer(f"its symbols have the invalid bounds {bounds}")
        self._bounds = bounds
        self._exprs = [self._expr(row) for row in root.get(9, [])]

    def points(self) -> list[Point]:
        """The maximum sizes first, then others that may select other kernels."""
        lists = [_sizes(*bounds) for bounds in self._bounds]
        while prod(map(len, lists)) > _MAX_POINTS:
            lists = [sizes[: (len(sizes) + 1) // 2] for sizes in lists]
        return list(product(*lists))

    def at(self, ints: Sequence[int], entries: bytes, point: Point) -> tuple[int, ...] | None:
        """The ints at a point, by their size entries. None if one of them is inferred."""
        indices = struct.unpack(f"<{len(entries) // 4}I", entries)
        if not indices or point == tuple(high for _, high in self._bounds):
            return tuple(ints)
        if INFERRED in indices:
            return None
        if len(indices) != len(ints) or max(indices) > len(self._exprs):
            raise MalformedBuffer(f"the ints {list(ints)} have the invalid size entries {indices}")
        return tuple(
            self._value(index - 1, point) if index else value
            for value, index in zip(ints, indices, strict=True)
        )

    def _value(self, index: int, point: Point) -> int:
        terms, divisor = self._exprs[index]
        return sum(factor * prod(point[s] for s in symbols) for factor, symbols in terms) // divisor

    def _expr(self, row: Values) -> tuple[list[tuple[int, Point]], int]:
        terms = []
        for term in row.get(0, []):
            data = term.get(1, b"")
            symbols = struct.unpack(f"<{len(data) // 4}I", data)
            if max(symbols, default=-1) >= len(self._bounds):
                raise MalformedBuffer(
                    f"one of its size expressions multiplies the unknown symbols {symbols}"
                )
            terms.append((_signed(term.get(0, 0)), symbols))
        divisor = _signed(row.get(1, 1))
        if divisor < 1:
            raise MalformedBuffer(f"one of its size expressions has the divisor {divisor}")
        return terms, divisor


def _sizes(low: int, high: int) -> list[int]:
    """The maximum, then the minimum and its successors, then the mean."""
    others = [*range(low, min(low + _CONSECUTIVE, high)), (low + high) // 2]
    return list(dict.fromkeys([high, *others]))


def _signed(value: int) -> int:
    """The int64 with the bits of a uint64."""
    return value - (1 << 64) if value >> 63 else value
