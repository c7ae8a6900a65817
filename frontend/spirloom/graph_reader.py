"""Reads graph files (.slg) as hostile input: every index, size and offset is checked before use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spec_model.flatbuffer import MalformedBuffer, Row
from spec_model.graph_file import ArgKind, buffer_size, root_of
from spec_model.interval import Interval
from spirloom.constants_file import ALIGNMENT, DIGEST_BYTES, digest_of, section_of
from spirloom.graph_file import DTYPES, STORAGES, check_attachments, check_methods
from spirloom.ir import ArgValue, Array, Graph, IntInput, Node, State, Tensor, is_possible
from spirloom.mapped_file import array_in, damage_of, mapped
from spirloom.symbolic.size_reader import SizeReader

# The bounds of an unbounded tensor.
_MIN, _MAX = -(1 << 63), (1 << 63) - 1
_REMEDY = "Import the model again: spirloom import MODEL.onnx -o MODEL.slg."


def load(path: Path, check: bool = False) -> Graph:
    """Reads the first method of a file. Otherwise as load_methods()."""
    return load_methods(path, check)[0]


def load_methods(path: Path, check: bool = False) -> list[Graph]:
    """Reads the methods of a file. Constants are mapped, not read. Raises ImportFailure.

    With `check`, constants are read, and must have the digest that the graph states.
    """
    with damage_of(path, "a Spirloom graph", _REMEDY):
        reader = _Reader(path, mapped(path))
        if check:
            reader.check_constants()
        return reader.graphs()


def read_methods(data: memoryview, label: str) -> list[Graph]:
    """Reads the methods of a graph file in memory, with its constants. Raises MalformedBuffer."""
    return _Reader(Path(label), data, is_file=False).graphs()


class _Reader:
    def __init__(self, path: Path, data: memoryview, is_file: bool = True) -> None:
        self._path = path
        self._is_file = is_file
        self._root = root_of(data)
        self._digest = bytes(self._root["constants_digest"])
        self._constants = self._constant_section(data, buffer_size(data))

    def _constant_section(self, data: memoryview, end: int) -> memoryview:
        name = self._root["constants_file"]
        if not name:
            start = end + -end % ALIGNMENT
            return data[start:]
        if len(self._digest) != DIGEST_BYTES:
            raise MalformedBuffer(
                f"it does not state the digest of its constants, which are in the file {name!r}"
            )
        if not self._is_file:
            raise MalformedBuffer(f"its constants are in the file {name!r}")
        if name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise MalformedBuffer(f"its constants file {name!r} is not a bare file name")
        file = self._path.with_name(name)
        return section_of(file, mapped(file), self._path, self._digest)

    def check_constants(self) -> None:
        """Reads all constants and checks their digest."""
        found = digest_of(self._constants)
        if found != self._digest:
            raise MalformedBuffer(
                f"its constants have the digest {found.hex()}, and it states "
                f"{self._digest.hex() or 'none'}"
            )

    def graphs(self) -> list[Graph]:
        graphs = [self._graph(method) for method in (self._root, *self._root["methods"])]
        check_methods(graphs)
        graphs[0].attachments = _attachments(self._root)
        return graphs

    def _graph(self, root: Row) -> Graph:
        sizes = SizeReader(root)
        tensors = [self._tensor(i, t, sizes) for i, t in enumerate(root["tensors"])]
        nodes = [_node(i, n, tensors, sizes) for i, n in enumerate(root["nodes"])]
        inputs = [_at(tensors, i, "an input") for i in root["inputs"]]
        outputs = [_at(tensors, i, "an output") for i in root["outputs"]]
        states = [self._state(i, s, tensors) for i, s in enumerate(root["states"])]
        graph = Graph(inputs, outputs, nodes, root["producer"], sizes.symbols, states=states)
        graph.name = root["name"]
        graph.guards = tuple(root["guards"])
        graph.int_inputs = [_int_input(entry, graph) for entry in root["int_inputs"]]
        for node, entry in zip(nodes, root["nodes"], strict=True):
            if entry["source"]:
                graph.sources[node.name] = entry["source"]
        _check_order(graph)
        return graph

    def _tensor(self, index: int, entry: Row, sizes: SizeReader) -> Tensor:
        name = entry["name"]
        what = f"tensor {index} ({name})"
        shape = entry["shape"]
        if not is_possible(shape):
            raise MalformedBuffer(f"{what} has the impossible shape {list(shape)}")
        if entry["dtype"] >= len(DTYPES) or entry["storage"] >= len(STORAGES):
            raise MalformedBuffer(
                f"{what} has dtype {entry['dtype']} and storage {entry['storage']}"
            )
        shape = sizes.varying(shape, entry["sizes"], what, may_be_inferred=True)
        tensor = Tensor(name, DTYPES[entry["dtype"]], shape, storage=STORAGES[entry["storage"]])
        tensor.bounds = _bounds(what, entry)
        if entry["constant"] != -1:
            tensor.data = self._constant(what, entry["constant"], tensor)
        return tensor

    def _state(self, index: int, entry: Row, tensors: list[Tensor]) -> State:
        tensor = _at(tensors, entry["tensor"], f"state {index}")
        update = _at(tensors, entry["update"], f"the update of state {index}")
        what = f"state {index} ({tensor.name})"
        if (update.dtype, update.shape) != (tensor.dtype, tensor.shape):
            raise MalformedBuffer(f"{what} is {tensor}, and its update {update}")
        initial = None
        if entry["initial"] != -1:
            initial = self._constant(what, entry["initial"], tensor)
        return State(tensor, update, initial)

    def _constant(self, what: str, index: int, tensor: Tensor) -> Array:
        entry = _at(self._root["constants"], index, f"the constant of {what}")
        if entry["offset"] % ALIGNMENT or entry["size"] != tensor.size:
            raise MalformedBuffer(
                f"the constant of {what} has {entry['size']} bytes at {entry['offset']}, "
                f"and its tensor {tensor.size}"
            )
        name, dtype = f"the constant of {what}", tensor.dtype.numpy
        return array_in(self._constants, entry["offset"], dtype, tensor.shape, name)


def _int_input(entry: Row, graph: Graph) -> IntInput:
    name = entry["name"]
    what = f"the integer input {name!r}"
    symbol = _at(
        [symbol.name for symbol in graph.symbols], entry["symbol"], f"the symbol of {what}"
    )
    if not name or entry["position"] > len(graph.inputs):
        raise MalformedBuffer(f"{what} has the position {entry['position']}")
    return IntInput(name, symbol, entry["position"])


def _bounds(what: str, entry: Row) -> Interval | None:
    if (entry["min"], entry["max"]) == (_MIN, _MAX):
        return None
    if entry["min"] > entry["max"]:
        raise MalformedBuffer(f"{what} has the bounds {entry['min']} and {entry['max']}")
    return Interval(entry["min"], entry["max"])


def _attachments(root: Row) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for entry in root["attachments"]:
        name = entry["name"]
        if name in found:
            raise MalformedBuffer(f"two attachments have the name {name!r}")
        found[name] = bytes(entry["data"])
    check_attachments(found)
    return found


def _node(index: int, entry: Row, tensors: list[Tensor], sizes: SizeReader) -> Node:
    op = entry["op"]
    what = f"node {index} ({op})"
    if not op:
        raise MalformedBuffer(f"node {index} has no op")
    args = tuple(_arg(arg, what, tensors, sizes) for arg in entry["args"])
    outputs = tuple(_at(tensors, i, f"an output of {what}") for i in entry["outputs"])
    return Node(op, args, outputs, entry["name"])


def _arg(entry: Row, what: str, tensors: list[Tensor], sizes: SizeReader) -> ArgValue:
    operands = tuple(_at(tensors, i, f"an argument of {what}") for i in entry["tensors"])
    ints: tuple[int, ...] = entry["ints"]
    if entry["kind"] in (ArgKind.INT, ArgKind.INTS):
        ints = sizes.varying(ints, entry["sizes"], f"an argument of {what}")
    match entry["kind"]:
        case ArgKind.NONE:
            return None
        case ArgKind.TENSOR if len(operands) == 1:
            operand: Tensor = operands[0]
            return operand
        case ArgKind.TENSOR_LIST if operands:
            return operands
        case ArgKind.INT if len(ints) == 1:
            return ints[0]
        case ArgKind.BOOL if len(ints) == 1:
            return bool(ints[0])
        case ArgKind.FLOAT:
            return sizes.number(
                float(entry["float_value"]), entry["number"], f"an argument of {what}"
            )
        case ArgKind.INTS:
            return ints
        case ArgKind.STRING:
            return str(entry["string_value"])
    raise MalformedBuffer(f"an argument of {what} has kind {entry['kind']} and the wrong values")


def _check_order(graph: Graph) -> None:
    known = {t for t in graph.tensors() if t.data is not None} | set(graph.given())
    for index, node in enumerate(graph.nodes):
        for tensor in node.inputs():
            if tensor not in known:
                raise MalformedBuffer(
                    f"node {index} ({node.op}) reads {tensor.name!r} before it is computed"
                )
        for tensor in node.outputs:
            if tensor in known:
                raise MalformedBuffer(f"node {index} ({node.op}) writes {tensor.name!r} again")
            known.add(tensor)
    for tensor in graph.results():
        if tensor not in known:
            raise MalformedBuffer(f"no node computes the result {tensor.name!r}")


def _at(items: list[Any], index: int, what: str) -> Any:
    if not 0 <= index < len(items):
        raise MalformedBuffer(f"{what} has index {index}, but there are {len(items)}")
    return items[index]
