"""Writes graph files (.slg; format: schema/graph.fbs). Equal graphs give equal bytes."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import flatbuffers  # type: ignore[import-untyped]

from codegen.graph_file import IDENTIFIER, VERSION
from codegen.graph_sizes import INFERRED
from spirloom import schema_bindings as fb
from spirloom.errors import ImportFailure
from spirloom.ir import ArgValue, Array, DType, Graph, Node, Storage, Tensor
from spirloom.sizes import SizeExpr, Symbol, Varying

ALIGNMENT = 64

# By number in the file.
DTYPES: tuple[DType, ...] = tuple(DType)
STORAGES: tuple[Storage | None, ...] = (None, *Storage)


def to_bytes(graph: Graph) -> bytes:
    """A whole .slg file, constants included."""
    header, constants = _encode(graph, None)
    stream = io.BytesIO()
    stream.write(header)
    _write_constants(stream, constants)
    return stream.getvalue()


def save(graph: Graph, path: Path, external_data: bool = False) -> None:
    """Writes the file, and `<file name>.data` with the constants beside it if asked to.

    Nothing half-written is ever seen under the final names.
    """
    data_path = path.with_name(path.name + ".data")
    header, constants = _encode(graph, data_path.name if external_data else None)
    try:
        if external_data:
            with replaced(data_path) as stream:
                _write_constants(stream, constants)
        with replaced(path) as stream:
            stream.write(header)
            if not external_data:
                _write_constants(stream, constants)
    except OSError as error:
        raise ImportFailure(f"Cannot write {path}: {error.strerror or error}.") from error


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A stream to a temporary file that takes the name `path` when the block ends well."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as stream:
            yield stream
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _encode(graph: Graph, constants_file: str | None) -> tuple[bytes, list[Array]]:
    """The padded FlatBuffer, and the constants in file order."""
    tensors = graph.tensors()
    index = {tensor: i for i, tensor in enumerate(tensors)}
    pool = _ConstantPool()
    sizes = _SizePool(graph.symbols)
    root = fb.GraphT()
    root.version = VERSION
    root.tensors = [_tensor(t, -1 if t.data is None else pool.add(t.data), sizes) for t in tensors]
    root.constants = pool.entries
    root.nodes = [_node(node, index, sizes) for node in graph.nodes]
    root.inputs = [index[t] for t in graph.inputs]
    root.outputs = [index[t] for t in graph.outputs]
    root.constantsFile = constants_file
    root.producer = graph.producer
    root.symbols = [_symbol(symbol) for symbol in graph.symbols] or None
    root.sizes = sizes.entries or None
    builder = flatbuffers.Builder(1 << 16)
    builder.FinishSizePrefixed(root.Pack(builder), file_identifier=IDENTIFIER)
    header = bytes(builder.Output())
    return header + b"\0" * (-len(header) % ALIGNMENT), pool.arrays


class _ConstantPool:
    """Lays out the constant section; equal bytes are stored once."""

    def __init__(self) -> None:
        self.entries: list[fb.ConstantT] = []
        self.arrays: list[Array] = []
        self._seen: dict[bytes, int] = {}
        self._end = 0

    def add(self, data: Array) -> int:
        digest = hashlib.blake2b(data.tobytes(), digest_size=32).digest()
        if digest not in self._seen:
            entry = fb.ConstantT()
            entry.offset = self._end
            entry.size = data.nbytes
            self._end += data.nbytes + -data.nbytes % ALIGNMENT
            self._seen[digest] = len(self.entries)
            self.entries.append(entry)
            self.arrays.append(data)
        return self._seen[digest]


class _SizePool:
    """The expressions of a graph; equal ones are stored once."""

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        self.entries: list[fb.SizeExprT] = []
        self._places = {symbol.name: i for i, symbol in enumerate(symbols)}
        self._seen: dict[SizeExpr, int] = {}

    def of(self, ints: Sequence[int]) -> list[int] | None:
        """The field `sizes` beside ints."""
        if not any(isinstance(value, Varying) for value in ints):
            return None
        return [self._add(v.expr) if isinstance(v, Varying) else 0 for v in ints]

    def _add(self, expr: SizeExpr | None) -> int:
        if expr is None:
            return INFERRED
        if expr not in self._seen:
            entry = fb.SizeExprT()
            entry.terms = [self._term(*term) for term in expr.terms]
            entry.divisor = expr.divisor
            self.entries.append(entry)
            self._seen[expr] = len(self.entries)
        return self._seen[expr]

    def _term(self, factor: int, names: Sequence[str]) -> fb.SizeTermT:
        term = fb.SizeTermT()
        term.factor = factor
        term.symbols = [self._places[name] for name in names]
        return term


def _symbol(symbol: Symbol) -> fb.SymbolT:
    result = fb.SymbolT()
    result.name, result.least, result.greatest = symbol.name, symbol.least, symbol.greatest
    return result


def _write_constants(stream: IO[bytes], constants: list[Array]) -> None:
    for data in constants:
        stream.write(data.tobytes())
        stream.write(b"\0" * (-data.nbytes % ALIGNMENT))


def _tensor(tensor: Tensor, constant: int, sizes: _SizePool) -> fb.TensorT:
    result = fb.TensorT()
    result.name = tensor.name
    result.dtype = tensor.dtype.code
    result.shape = list(tensor.shape)
    result.storage = STORAGES.index(tensor.storage)
    result.constant = constant
    result.sizes = sizes.of(tensor.shape)
    if tensor.bounds is not None:
        result.least, result.greatest = int(tensor.bounds.low), int(tensor.bounds.high)
    return result


def _node(node: Node, index: dict[Tensor, int], sizes: _SizePool) -> fb.NodeT:
    result = fb.NodeT()
    result.op = node.op
    result.args = [_arg(arg, index, sizes) for arg in node.args]
    result.outputs = [index[t] for t in node.outputs]
    result.name = node.name
    return result


def _arg(value: ArgValue, index: dict[Tensor, int], sizes: _SizePool) -> fb.ArgT:
    arg = fb.ArgT()
    match value:
        case None:
            arg.kind = fb.ArgKind.None_
        case Tensor():
            arg.kind = fb.ArgKind.Tensor
            arg.tensors = [index[value]]
        case bool():
            arg.kind = fb.ArgKind.Bool
            arg.ints = [int(value)]
        case int():
            arg.kind = fb.ArgKind.Int
            arg.ints = [value]
            arg.sizes = sizes.of(arg.ints)
        case float():
            arg.kind = fb.ArgKind.Float
            arg.floatValue = value
        case str():
            arg.kind = fb.ArgKind.String
            arg.stringValue = value
        case (Tensor(), *_):
            arg.kind = fb.ArgKind.TensorList
            arg.tensors = [index[t] for t in value if isinstance(t, Tensor)]
        case tuple():
            arg.kind = fb.ArgKind.Ints
            arg.ints = [i for i in value if isinstance(i, int)]
            arg.sizes = sizes.of(arg.ints)
    return arg
