"""A recorded operator call: arguments with tensors as types, and its graph of one node."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from spirloom.ir import ArgValue, DType, Graph, Node, State, Tensor
from spirloom.number_expr import SymFloat
from spirloom.op_library import OpLibrary

from benchmarks.roofline.typical_values import typical_values
from spec_model.interval import Interval

# Bounds of integer inputs without recorded bounds: a tensor has at least two elements in most
# dimensions that are indexed.
DEFAULT_INDEX_LIMIT = 1
CALLS = Path(__file__).with_name("calls.jsonl")


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call of an operator in networks.

    `args` are JSON values; a tensor is `{"tensor": index, "dtype", "shape"}`, with `"constant"` if
    it was a constant, and `"max"`, the maximum of its integers. Equal indices are the same tensor.
    `networks` maps names of networks to the number of such calls in one run.
    """

    op: str
    args: tuple[Any, ...]
    dtype: str
    networks: Mapping[str, int] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """A text that equal calls share."""
        return json.dumps([self.op, self.args])

    @property
    def id(self) -> str:
        """A short unique name: operator, shapes, dtype, and a digest of all arguments."""
        shapes = " ".join("x".join(map(str, t["shape"])) for t in self.tensors())
        digest = hashlib.sha256(self.key.encode()).hexdigest()[:8]
        return f"{self.op}/{shapes}/{self.dtype}/{digest}"

    @property
    def count(self) -> int:
        """Calls in one run of all networks."""
        return sum(self.networks.values())

    def tensors(self) -> list[dict[str, Any]]:
        """The distinct tensors, in argument order."""
        return list({tensor["tensor"]: tensor for tensor in _tensors(self.args)}.values())

    def to_json(self) -> str:
        """One line of calls.jsonl."""
        return json.dumps([self.op, self.dtype, _packed(self.args), self.networks])

    @classmethod
    def from_json(cls, line: str) -> RecordedCall:
        """The inverse of to_json()."""
        op, dtype, args, networks = json.loads(line)
        return cls(op, tuple(map(_unpacked, args)), dtype, networks)

    def graph(self, library: OpLibrary) -> Graph:
        """The graph of the call. Constants are broadcast zeros, which take no memory."""
        graph = Graph(producer="spirloom roofline")
        found: dict[int, Tensor] = {}
        names = library.arg_names(self.op)
        positions = {"position", "positions"} & set(names)
        recorded = (_argument(arg, found, graph) for arg in self.args)
        # The operator may have gained arguments since the recording.
        args = library.complete(self.op, dict(zip(names, recorded, strict=False)))
        for name, value in typical_values(self.op).items():
            _set_value(dict(zip(names, args, strict=True))[name], value, graph)
        for name in positions:
            _set_position(dict(zip(names, args, strict=True)), name)
        outputs = tuple(
            Tensor(f"y{i}", dtype, shape)
            for i, (shape, dtype) in enumerate(library.infer(self.op, args))
        )
        graph.outputs += outputs
        graph.nodes.append(Node(self.op, args, outputs, "call"))
        _set_states(graph, args, library.updated_args(self.op))
        return graph


def read_calls(path: Path = CALLS) -> list[RecordedCall]:
    """The recorded calls of a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [RecordedCall.from_json(line) for line in lines]


def calls_in(graph: Graph, network: str, library: OpLibrary) -> list[RecordedCall]:
    """The calls of a graph that are not views, with their counts. Symbolic sizes have their
    maxima."""
    found: dict[str, RecordedCall] = {}
    counts: dict[str, int] = {}
    for node in graph.nodes:
        if library.is_view(node.op) or not any(t.values is None for t in node.inputs()):
            continue
        call = record(node)
        found[call.key] = call
        counts[call.key] = counts.get(call.key, 0) + 1
    return [
        RecordedCall(call.op, call.args, call.dtype, {network: counts[key]})
        for key, call in found.items()
    ]


def merged(calls: Iterable[RecordedCall]) -> list[RecordedCall]:
    """Equal calls as one, sorted."""
    networks: dict[str, dict[str, int]] = {}
    calls = list(calls)
    found = {call.key: call for call in calls}
    for call in calls:
        counts = networks.setdefault(call.key, {})
        for network, count in call.networks.items():
            counts[network] = counts.get(network, 0) + count
    return [
        RecordedCall(call.op, call.args, call.dtype, dict(sorted(networks[key].items())))
        for key, call in sorted(found.items())
    ]


def record(node: Node) -> RecordedCall:
    """The call of a node. Its dtype is that of the first float tensor, else of the first."""
    indices: dict[Tensor, int] = {}
    args = tuple(_recorded(arg, indices) for arg in node.args)
    dtypes = [t.dtype for t in (*node.inputs(), *node.outputs)]
    floats = [dtype for dtype in dtypes if dtype.is_float]
    return RecordedCall(node.op, args, str((floats or dtypes)[0]))


def _recorded(arg: ArgValue, indices: dict[Tensor, int]) -> Any:
    if isinstance(arg, Tensor):
        found: dict[str, Any] = {
            "tensor": indices.setdefault(arg, len(indices)),
            "dtype": str(arg.dtype),
            "shape": [int(size) for size in arg.shape],
        }
        if arg.is_constant:
            found["constant"] = True
        limit = _limit(arg)
        return found if limit is None else {**found, "max": limit}
    if isinstance(arg, tuple):
        return [_recorded(cast(ArgValue, item), indices) for item in arg]
    if isinstance(arg, SymFloat):
        return arg.value
    return int(arg) if type(arg) is not bool and isinstance(arg, int) else arg


def _limit(tensor: Tensor) -> int | None:
    """The maximum of integers, if it is known."""
    if tensor.dtype is not DType.I32:
        return None
    if tensor.data is not None and tensor.data.size:
        return max(0, int(tensor.data.max()))
    if tensor.bounds is not None and tensor.bounds.high < np.iinfo(np.int32).max:
        return max(0, int(tensor.bounds.high))
    return None


def _tensors(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _packed(value: Any) -> Any:
    """The value with tensors as texts: `%0 f16 1x8x8 const`."""
    if isinstance(value, list | tuple):
        return [_packed(item) for item in value]
    if not isinstance(value, dict):
        return value
    shape = "x".join(map(str, value["shape"])) or "scalar"
    text = f"%{value['tensor']} {value['dtype']} {shape}"
    text += " const" if "constant" in value else ""
    return text + (f" max {value['max']}" if "max" in value else "")


def _unpacked(value: Any) -> Any:
    """The inverse of _packed()."""
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if not (isinstance(value, str) and value.startswith("%")):
        return value
    index, dtype, shape, *rest = value[1:].split()
    sizes = [] if shape == "scalar" else [int(size) for size in shape.split("x")]
    found: dict[str, Any] = {"tensor": int(index), "dtype": dtype, "shape": sizes}
    if "const" in rest:
        found["constant"] = True
    return {**found, "max": int(rest[-1])} if "max" in rest else found


def _argument(value: Any, found: dict[int, Tensor], graph: Graph) -> ArgValue:
    if isinstance(value, list):
        return tuple(_argument(item, found, graph) for item in value)  # type: ignore[return-value]
    if not isinstance(value, dict):
        return cast(ArgValue, value)
    index = value["tensor"]
    if index not in found:
        found[index] = _tensor(value, graph)
    return found[index]


def _set_states(graph: Graph, args: Sequence[ArgValue], updated: Sequence[int | None]) -> None:
    """Makes the tensors that the operator updates in place, such as KV caches, states."""
    for output, index in zip(graph.nodes[-1].outputs, updated, strict=True):
        tensor = None if index is None else args[index]
        if isinstance(tensor, Tensor) and tensor in graph.inputs:
            graph.inputs.remove(tensor)
            graph.outputs.remove(output)
            graph.states.append(State(tensor, output))


def _set_value(tensor: ArgValue, value: float, graph: Graph) -> None:
    """Gives an input of one element its value: as bounds of integers, as a constant of floats."""
    if not isinstance(tensor, Tensor) or tensor not in graph.inputs or tensor.shape != (1,):
        return
    if tensor.dtype is DType.I32:
        tensor.bounds = Interval(value, value)
    else:
        tensor.values = np.full((1,), value, tensor.dtype.numpy)
        graph.inputs.remove(tensor)


def _set_position(args: Mapping[str, ArgValue], name: str) -> None:
    """The position of a step is at three quarters of the KV cache."""
    position, cache = args[name], args.get("keys", args.get("cache"))
    if isinstance(position, Tensor) and isinstance(cache, Tensor):
        at = position_in(cache)
        position.bounds = Interval(at, at)


def position_in(cache: Tensor) -> int:
    """The position of a step in a KV cache, [batch, rows, heads, depth], or in a list of tokens."""
    return cache.shape[min(1, len(cache.shape) - 1)] * 3 // 4


def _tensor(value: Mapping[str, Any], graph: Graph) -> Tensor:
    """A constant of zeros, or an input; integers are random numbers up to the recorded maximum."""
    dtype, shape = DType(value["dtype"]), tuple(value["shape"])
    tensor = Tensor(f"x{value['tensor']}", dtype, shape)
    is_integer = dtype is DType.I32
    if value.get("constant") and not is_integer:
        tensor.values = np.broadcast_to(np.zeros((), dtype.numpy), shape)
        return tensor
    if is_integer:
        tensor.bounds = Interval(0, value.get("max", DEFAULT_INDEX_LIMIT))
    graph.inputs.append(tensor)
    return tensor
