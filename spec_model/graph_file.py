"""Graph files (.slg, format: schema/graph.fbs) read as calls of operators.

Requires only the standard library. Files are verified: a damaged one raises MalformedBuffer.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from math import prod
from pathlib import Path

from spec_model.expr.types import TensorType
from spec_model.files import open_regular
from spec_model.flatbuffer import MalformedBuffer, Row, read
from spec_model.flatbuffer_schema import load
from spec_model.vocabulary import MAX_RANK, DType, Storage

SCHEMA = load("schema/graph.fbs")
VERSION = SCHEMA.enums["FormatVersion"]["Current"]
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
        shape = self._sizes.at(row["shape"], row["sizes"], self._point)
        return None if shape is None else _tensor(index, row, shape)

    def _call(self, index: int, row: Row) -> Call:
        what = f"node {index} ({row['name']}, {row['op']})"
        outputs = _at(self._tensors, row["outputs"], what)
        storage = next((y.storage for y in outputs if y.storage is not None), None)
        args = tuple(self._arg(arg, what) for arg in row["args"])
        return Call(row["op"], args, storage, what)

    def _arg(self, row: Row, what: str) -> object:
        ints = self._sizes.at(row["ints"], row["sizes"], self._point)
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


# Instead of the index of an expression: shape inference computes the size.
INFERRED = (1 << 32) - 1
# Consecutive sizes in addition to the maximum: they cover every remainder modulo 4.
_CONSECUTIVE = 5
_MAX_POINTS = 256

Point = tuple[int, ...]  # the size of each symbol


@dataclass(frozen=True, slots=True)
class _Term:
    factor: int
    symbols: tuple[int, ...]
    sizes: tuple[int, ...]  # of earlier expressions


@dataclass(frozen=True, slots=True)
class _Size:
    """(op of the terms) // divisor"""

    terms: tuple[_Term, ...]
    divisor: int
    op: Callable[[Iterable[int]], int]


_SIZE_OPS: tuple[Callable[[Iterable[int]], int], ...] = (sum, min, max)  # by SizeOp of the schema
_MAX_SIZE = 1 << 63


class GraphSizes:
    """The symbols and expressions of a graph file's root table."""

    def __init__(self, root: Row) -> None:
        bounds = [(row["min"], row["max"]) for row in root["symbols"]]
        if any(not 0 <= low <= high for low, high in bounds):
            raise MalformedBuffer(f"its symbols have the invalid bounds {bounds}")
        self._bounds = bounds
        self._exprs: list[_Size] = []
        for row in root["sizes"]:
            self._exprs.append(self._expr(row))
        self._known: tuple[Point, list[int]] = ((), [])

    def points(self) -> list[Point]:
        """The maximum sizes first, then others that may select other kernels."""
        lists = [_sizes(*bounds) for bounds in self._bounds]
        while prod(map(len, lists)) > _MAX_POINTS:
            lists = [sizes[: (len(sizes) + 1) // 2] for sizes in lists]
        return list(product(*lists))

    def at(
        self, ints: Sequence[int], entries: Sequence[int], point: Point
    ) -> tuple[int, ...] | None:
        """The ints at a point, by their size entries. None if one of them is inferred."""
        if not entries or point == tuple(high for _, high in self._bounds):
            return tuple(ints)
        if INFERRED in entries:
            return None
        if len(entries) != len(ints) or max(entries) > len(self._exprs):
            raise MalformedBuffer(f"the ints {list(ints)} have the invalid size entries {entries}")
        sizes = self._values(point)
        return tuple(
            sizes[entry - 1] if entry else value for value, entry in zip(ints, entries, strict=True)
        )

    def _values(self, point: Point) -> list[int]:
        """The values of all expressions."""
        if self._known[0] != point:
            values: list[int] = []
            for expr in self._exprs:
                terms = (
                    t.factor * prod(point[s] for s in t.symbols) * prod(values[s] for s in t.sizes)
                    for t in expr.terms
                )
                values.append(expr.op(terms) // expr.divisor)
                if not -_MAX_SIZE <= values[-1] < _MAX_SIZE:
                    raise MalformedBuffer(f"its size {len(values) - 1} exceeds 64 bits")
            self._known = point, values
        return self._known[1]

    def _expr(self, row: Row) -> _Size:
        terms = tuple(
            _Term(term["factor"], term["symbols"], term["sizes"]) for term in row["terms"]
        )
        index = len(self._exprs)
        for term in terms:
            if max(term.symbols, default=-1) >= len(self._bounds):
                raise MalformedBuffer(f"size {index} multiplies the symbols {term.symbols}")
            if max(term.sizes, default=-1) >= index:
                raise MalformedBuffer(f"size {index} multiplies the sizes {term.sizes}")
        if row["divisor"] < 1:
            raise MalformedBuffer(f"size {index} is divided by {row['divisor']}")
        if row["op"] >= len(_SIZE_OPS) or (row["op"] and not terms):
            raise MalformedBuffer(f"size {index} has the operation {row['op']}, {len(terms)} terms")
        return _Size(terms, row["divisor"], _SIZE_OPS[row["op"]])


def _sizes(low: int, high: int) -> list[int]:
    """The maximum, then the minimum and its successors, then the mean."""
    others = [*range(low, min(low + _CONSECUTIVE, high)), (low + high) // 2]
    return list(dict.fromkeys([high, *others]))
