"""Writes graph files (.slg; format: schema/graph.fbs). Equal graphs give equal bytes."""

from __future__ import annotations

import io
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import flatbuffers
import numpy as np

from spec_model.files import replaced_together
from spec_model.graph_file import IDENTIFIER, VERSION
from spec_model.graph_sizes import INFERRED
from spirloom import schema_bindings as fb
from spirloom.constants_file import (
    ALIGNMENT,
    DIGEST_BYTES,
    write_constants_file,
    write_section,
)
from spirloom.deferred import Deferred
from spirloom.equal_constants import EqualConstants
from spirloom.errors import ImportFailure, writing
from spirloom.ir import ArgValue, Array, DType, Graph, IntInput, Node, State, Storage, Tensor
from spirloom.number_expr import NumberExpr, SymFloat
from spirloom.sizes import SizeExpr, Symbol, Varying
from spirloom.terminal import Report, silent

# Limits per file, which the runtime checks too.
MAX_ATTACHMENTS = 64
MAX_ATTACHMENT_NAME_BYTES = 255
MAX_ATTACHMENT_BYTES = 256 << 20


def attachments_of(methods: Sequence[Graph]) -> dict[str, bytes]:
    """The attachments of all methods of a file. Raises ImportFailure for invalid ones."""
    found: dict[str, bytes] = {}
    for method in methods:
        for name, data in method.attachments.items():
            if found.setdefault(name, data) != data:
                raise ImportFailure(f"The methods have two attachments with the name {name!r}.")
    check_attachments(found)
    return found


def attach(methods: Sequence[Graph], attachments: Mapping[str, bytes]) -> None:
    """Adds attachments of the user to a file. Raises ImportFailure for a name that the file has."""
    taken = attachments.keys() & attachments_of(methods).keys()
    if taken:
        raise ImportFailure(f"The file already has the attachment {min(taken)!r}. Rename yours.")
    check_attachments({**attachments_of(methods), **attachments})
    methods[0].attachments.update(attachments)


def check_attachments(attachments: Mapping[str, bytes]) -> None:
    """Raises ImportFailure for too many or too large attachments, and for invalid names."""
    if len(attachments) > MAX_ATTACHMENTS:
        raise ImportFailure(
            f"A file has at most {MAX_ATTACHMENTS} attachments, not {len(attachments)}."
        )
    for name in attachments:
        if not 1 <= len(name.encode()) <= MAX_ATTACHMENT_NAME_BYTES:
            raise ImportFailure(
                f"The name of an attachment must have 1 to {MAX_ATTACHMENT_NAME_BYTES} bytes; "
                f"{name!r} has {len(name.encode())}."
            )
    total = sum(map(len, attachments.values()))
    if total > MAX_ATTACHMENT_BYTES:
        raise ImportFailure(
            f"Attachments may have at most {MAX_ATTACHMENT_BYTES} bytes in total, not {total}."
        )


# Limit per file, which the runtime checks too.
MAX_METHODS = 64


def check_methods(methods: Sequence[Graph]) -> None:
    """Raises ImportFailure unless the graphs can be the methods of one file."""
    names = [method.name for method in methods]
    if len(methods) > MAX_METHODS:
        raise ImportFailure(f"A file has at most {MAX_METHODS} methods, not {len(methods)}.")
    for name in names if len(names) > 1 else ():
        if not name or names.count(name) > 1:
            raise ImportFailure(f"The method name {name!r} is used twice, or empty.")
    found: dict[str, tuple[Graph, State]] = {}
    for method in methods:
        for state in method.states:
            first, known = found.setdefault(state.tensor.name, (method, state))
            if not _same(known, state):
                raise ImportFailure(
                    f"State {state.tensor.name!r} is {known.tensor} in method {first.name!r}, "
                    f"and {state.tensor} with another type or initial value in {method.name!r}."
                )


def _same(a: State, b: State) -> bool:
    if (a.tensor.dtype, a.tensor.shape) != (b.tensor.dtype, b.tensor.shape):
        return False
    if a.initial is None or b.initial is None:
        return a.initial is b.initial
    return a.initial is b.initial or np.array_equal(a.initial, b.initial)


# Indexed by the dtype number in the file.
DTYPES: tuple[DType, ...] = tuple(DType)
STORAGES: tuple[Storage | None, ...] = (None, *Storage)


def to_bytes(*methods: Graph) -> bytes:
    """A complete .slg file, constants included. Several methods must have names."""
    stream = io.BytesIO()
    _Encoder(methods).write(stream)
    return stream.getvalue()


def save(
    graph: Graph | Sequence[Graph],
    path: Path,
    external_data: bool = False,
    report: Report = silent,
) -> None:
    """Writes the file and, with `external_data`, its constants to `<file name>.data` next to it.

    `graph` is one graph, or several with names: the methods of the file. `report` receives the
    progress of writing. Files are written under
    temporary names and then renamed, so that no partial file is visible. A reader that finds one
    new and one old file detects this by the digest in both.
    """
    data_path = path.with_name(path.name + ".data")
    methods = (graph,) if isinstance(graph, Graph) else tuple(graph)
    encoder = _Encoder(methods, data_path.name if external_data else None)
    paths = [data_path, path] if external_data else [path]
    with writing(path), replaced_together(paths) as streams:
        encoder.write(streams[-1], streams[0] if external_data else None, report)


class _Encoder:
    """The FlatBuffer of a file, without the digest of the constants, which follow it."""

    def __init__(self, methods: Sequence[Graph], constants_file: str | None = None) -> None:
        check_methods(methods)
        pool = _ConstantPool()
        root, *others = [_graph(method, pool) for method in methods]
        root.methods = others or None
        root.attachments = [_attachment(*each) for each in attachments_of(methods).items()] or None
        root.version = VERSION
        root.requiredFeatures = _features((root, *others)) or None
        root.constants = pool.entries
        root.constantsFile = constants_file
        self._root, self._arrays = root, pool.arrays

    def write(
        self,
        stream: IO[bytes],
        constants: IO[bytes] | None = None,
        report: Report = silent,
    ) -> None:
        """Writes the graph, and the constants after it or to their own file. Constants are read
        once: when they are written, their digest replaces a random one in the graph.
        """
        if constants is not None:
            stream.write(self._header(write_constants_file(self._arrays, constants, report)))
            return
        placeholder = secrets.token_bytes(DIGEST_BYTES)
        header = self._header(placeholder)
        stream.write(header)
        _, digest = write_section(self._arrays, stream, report)
        stream.seek(header.index(placeholder))
        stream.write(digest)

    def _header(self, digest: bytes) -> bytes:
        self._root.constantsDigest = digest
        builder = flatbuffers.Builder(1 << 16)
        builder.FinishSizePrefixed(self._root.Pack(builder), file_identifier=IDENTIFIER)
        header = bytes(builder.Output())
        return header + b"\0" * (-len(header) % ALIGNMENT)


def _features(methods: Sequence[fb.GraphT]) -> list[str]:
    """The additions to the format that readers must know."""
    used = {
        "numbers": any(method.numbers for method in methods),
        "int_inputs": any(method.intInputs for method in methods),
    }
    return [name for name, is_used in used.items() if is_used]


def _graph(graph: Graph, pool: _ConstantPool) -> fb.GraphT:
    """A method, without the tables that all methods share."""
    tensors = graph.tensors()
    index = {tensor: i for i, tensor in enumerate(tensors)}
    sizes = _SizePool(graph.symbols)
    numbers = _NumberPool(sizes)
    root = fb.GraphT()
    root.name = graph.name or None
    root.tensors = [_tensor(tensor, pool, sizes) for tensor in tensors]
    root.states = [_state(state, index, pool) for state in graph.states] or None
    root.nodes = [_node(node, graph.source_of(node), index, numbers) for node in graph.nodes]
    root.inputs = [index[t] for t in graph.inputs]
    root.outputs = [index[t] for t in graph.outputs]
    root.producer = graph.producer
    root.symbols = [_symbol(symbol) for symbol in graph.symbols] or None
    root.sizes = sizes.entries or None
    root.numbers = numbers.entries or None
    root.guards = list(graph.guards) or None
    names = [symbol.name for symbol in graph.symbols]
    root.intInputs = [_int_input(each, names) for each in graph.int_inputs] or None
    return root


class _ConstantPool:
    """Lays out the constant section. Equal bytes are stored once."""

    def __init__(self) -> None:
        self.entries: list[fb.ConstantT] = []
        self.arrays: list[Array | Deferred] = []
        self._equal: EqualConstants[int] = EqualConstants()
        self._end = 0

    def add(self, values: Array | Deferred) -> int:
        index = self._equal.setdefault(values, len(self.entries))
        if index == len(self.entries):
            entry = fb.ConstantT()
            entry.offset = self._end
            entry.size = values.nbytes
            self._end += values.nbytes + -values.nbytes % ALIGNMENT
            self.entries.append(entry)
            self.arrays.append(values)
        return index


class _SizePool:
    """The size expressions of a graph. Equal ones are stored once."""

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        self.entries: list[fb.SizeExprT] = []
        self._indices = {symbol.name: i for i, symbol in enumerate(symbols)}
        self._seen: dict[SizeExpr, int] = {}

    def of(self, ints: Sequence[int]) -> list[int] | None:
        """The field `sizes` for symbolic ints."""
        if not any(isinstance(value, Varying) for value in ints):
            return None
        return [self.add(v.expr) if isinstance(v, Varying) else 0 for v in ints]

    def add(self, expr: SizeExpr | None) -> int:
        """The entry of an expression: 1 + its index."""
        if expr is None:
            return INFERRED
        if expr not in self._seen:
            entry = fb.SizeExprT()
            entry.terms = [self._term(*term) for term in expr.terms]
            entry.divisor = expr.divisor
            entry.op = int(expr.op)
            self.entries.append(entry)
            self._seen[expr] = len(self.entries)
        return self._seen[expr]

    def _term(self, factor: int, parts: Sequence[str | SizeExpr]) -> fb.SizeTermT:
        term = fb.SizeTermT()
        term.factor = factor
        term.symbols = [self._indices[part] for part in parts if isinstance(part, str)]
        term.sizes = [self.add(part) - 1 for part in parts if isinstance(part, SizeExpr)] or None
        return term


class _NumberPool:
    """The numbers of a graph that depend on sizes. Equal ones are stored once."""

    def __init__(self, sizes: _SizePool) -> None:
        self.entries: list[fb.NumberExprT] = []
        self.sizes = sizes
        self._seen: dict[NumberExpr, int] = {}

    def add(self, expr: NumberExpr) -> int:
        """The entry of a number: 1 + its index."""
        if expr not in self._seen:
            entry = fb.NumberExprT()
            entry.op, entry.value = int(expr.op), expr.value
            entry.operands = [self.add(operand) - 1 for operand in expr.operands] or None
            if expr.size is not None:
                assert isinstance(expr.size, SizeExpr), "the graph is not finished"
                entry.size = self.sizes.add(expr.size) - 1
            self.entries.append(entry)
            self._seen[expr] = len(self.entries)
        return self._seen[expr]


def _attachment(name: str, data: bytes) -> fb.AttachmentT:
    result = fb.AttachmentT()
    result.name, result.data = name, np.frombuffer(data, np.uint8)
    return result


def _symbol(symbol: Symbol) -> fb.SymbolT:
    result = fb.SymbolT()
    result.name, result.min, result.max = symbol.name, symbol.min, symbol.max
    return result


def _int_input(given: IntInput, symbols: Sequence[str]) -> fb.IntInputT:
    result = fb.IntInputT()
    result.name, result.position = given.name, given.position
    result.symbol = symbols.index(given.symbol)
    return result


def _tensor(tensor: Tensor, pool: _ConstantPool, sizes: _SizePool) -> fb.TensorT:
    result = fb.TensorT()
    result.name = tensor.name
    result.dtype = tensor.dtype.code
    result.shape = list(tensor.shape)
    result.storage = STORAGES.index(tensor.storage)
    result.constant = -1 if tensor.values is None else pool.add(tensor.values)
    result.sizes = sizes.of(tensor.shape)
    if tensor.bounds is not None:
        result.min, result.max = int(tensor.bounds.low), int(tensor.bounds.high)
    return result


def _state(state: State, index: dict[Tensor, int], pool: _ConstantPool) -> fb.StateT:
    result = fb.StateT()
    result.tensor, result.update = index[state.tensor], index[state.update]
    result.initial = -1 if state.initial is None else pool.add(state.initial)
    return result


def _node(node: Node, source: str, index: dict[Tensor, int], numbers: _NumberPool) -> fb.NodeT:
    result = fb.NodeT()
    result.op = node.op
    result.args = [_arg(arg, index, numbers) for arg in node.args]
    result.outputs = [index[t] for t in node.outputs]
    result.name = node.name
    result.source = source or None
    return result


def _arg(value: ArgValue, index: dict[Tensor, int], numbers: _NumberPool) -> fb.ArgT:
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
            arg.sizes = numbers.sizes.of(arg.ints)
        case float():
            arg.kind = fb.ArgKind.Float
            arg.floatValue = value
        case SymFloat():
            arg.kind = fb.ArgKind.Float
            arg.floatValue = value.value
            arg.number = numbers.add(value.expr)
        case str():
            arg.kind = fb.ArgKind.String
            arg.stringValue = value
        case (Tensor(), *_):
            arg.kind = fb.ArgKind.TensorList
            arg.tensors = [index[t] for t in value if isinstance(t, Tensor)]
        case tuple():
            arg.kind = fb.ArgKind.Ints
            arg.ints = [i for i in value if isinstance(i, int)]
            arg.sizes = numbers.sizes.of(arg.ints)
    return arg
