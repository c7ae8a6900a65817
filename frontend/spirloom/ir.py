"""A graph in memory: importers build it, passes rewrite it, and graph_file stores it.

Tensors and nodes are compared by identity. A tensor is produced by at most one node. A tensor with
`values` is a constant. Nodes are in topological order. A graph with symbols has the shapes of its
maximum sizes. Symbolic ints of shapes and arguments are `Varying`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from spec_model.interval import Interval
from spec_model.symbolic import maximum
from spec_model.vocabulary import MAX_RANK, DType, Storage
from spirloom.deferred import Deferred
from spirloom.number_expr import SymFloat
from spirloom.sizes import Symbol

__all__ = [
    "MAX_RANK",
    "ArgValue",
    "Array",
    "DType",
    "Graph",
    "IntInput",
    "Node",
    "State",
    "Storage",
    "Tensor",
    "constant",
    "is_possible",
]

Array = npt.NDArray[Any]

# Elements of a tensor in a graph file.
MAX_ELEMENTS = 1 << 48


@dataclass(slots=True, eq=False)
class Tensor:
    """A value of a graph. `name` is a hint, except for inputs and outputs.

    `values` are the elements of a constant. With a symbolic shape, they have the maximum sizes, and
    the constant of each size is their first elements along each dimension. `storage` is the
    requested storage (None: chosen by the runtime). `bounds` are the bounds of an input's elements
    that the graph relies on (None: the full range of the dtype).
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    values: Array | Deferred | None = None
    storage: Storage | None = None
    bounds: Interval | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the elements are known, without reading them."""
        return self.values is not None

    @property
    def data(self) -> Array | None:
        """The elements of a constant; deferred ones are computed at each access."""
        return self.values.array() if isinstance(self.values, Deferred) else self.values

    @data.setter
    def data(self, values: Array | None) -> None:
        self.values = values

    @property
    def size(self) -> int:
        """Bytes of the dense array."""
        return prod(self.shape) * self.dtype.numpy.itemsize

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


# Ints are a tuple of int. A tensor list is a non-empty tuple of Tensor. A SymFloat is a float that
# depends on sizes.
ArgValue = (
    Tensor | tuple[Tensor, ...] | int | float | SymFloat | bool | tuple[int, ...] | str | None
)


@dataclass(slots=True, eq=False)
class Node:
    """One call of an operator, with every argument of its schema in order."""

    op: str
    args: tuple[ArgValue, ...]
    outputs: tuple[Tensor, ...]
    name: str = ""

    def inputs(self) -> Iterator[Tensor]:
        """The tensors read, in argument order, with repetitions."""
        for arg in self.args:
            if isinstance(arg, Tensor):
                yield arg
            elif isinstance(arg, tuple):
                yield from (item for item in arg if isinstance(item, Tensor))

    def replace_inputs(self, mapping: dict[Tensor, Tensor]) -> None:
        """Replaces each use of t with `mapping[t]`."""
        self.args = tuple(_replaced(arg, mapping) for arg in self.args)


def _replaced(arg: ArgValue, mapping: dict[Tensor, Tensor]) -> ArgValue:
    if isinstance(arg, Tensor):
        return mapping.get(arg, arg)
    if isinstance(arg, tuple) and arg and isinstance(arg[0], Tensor):
        return tuple(mapping.get(t, t) for t in arg if isinstance(t, Tensor))
    return arg


@dataclass(slots=True, eq=False)
class State:
    """A tensor that persists between runs: each run starts with the value that `update` had at the
    end of the previous one.

    No node computes `tensor`, which has the state's name. `update` has the same type, and is
    `tensor` itself if runs do not change the state. `initial` None: zeros.
    """

    tensor: Tensor
    update: Tensor
    initial: Array | None = None


@dataclass(frozen=True, slots=True)
class IntInput:
    """An integer that runs are given: the value of a symbol. `position` is the number of tensor
    inputs before it in the order of the model's arguments.
    """

    name: str
    symbol: str
    position: int


@dataclass(slots=True, eq=False)
class Graph:
    """A network: its inputs and outputs, and its nodes in topological order.

    `sources` maps node names to source lines of the model, where known. `name` is the method's name
    in a file with several. `attachments` are named bytes that the runtime does not interpret, such
    as a tokenizer. The attachments of a file are on its first graph. `float32` are the nodes that
    the conversion to fp16 left in float32, with reasons. `bfloat16`: the model has bfloat16
    weights, which are float32 here until the passes finish. Graph files contain neither. `guards`
    are the conditions that narrowed the ranges of symbols, with the nodes that rely on them.
    """

    inputs: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    producer: str = ""
    symbols: tuple[Symbol, ...] = ()
    sources: dict[str, str] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)
    name: str = ""
    attachments: dict[str, bytes] = field(default_factory=dict)
    float32: dict[str, str] = field(default_factory=dict)
    bfloat16: bool = False
    guards: tuple[str, ...] = ()
    int_inputs: list[IntInput] = field(default_factory=list)

    def given(self) -> list[Tensor]:
        """The values at the start of a run: inputs, then states."""
        return [*self.inputs, *(state.tensor for state in self.states)]

    def results(self) -> list[Tensor]:
        """The values that are used after a run: outputs, then the states' updates."""
        return [*self.outputs, *(state.update for state in self.states)]

    def source_of(self, node: Node) -> str:
        """The source line of a node, or of the first node that it was fused from."""
        first = node.name.partition(" + ")[0]
        return self.sources.get(node.name, self.sources.get(first, ""))

    def tensors(self) -> list[Tensor]:
        """Every tensor once: inputs and states, then the tensors of each node in order, then
        results.
        """
        seen: dict[Tensor, None] = dict.fromkeys(self.given())
        for node in self.nodes:
            seen.update(dict.fromkeys(node.inputs()))
            seen.update(dict.fromkeys(node.outputs))
        seen.update(dict.fromkeys(self.results()))
        return list(seen)

    def uses(self) -> dict[Tensor, list[Node]]:
        """The nodes that read each tensor, once per read."""
        result: dict[Tensor, list[Node]] = {}
        for node in self.nodes:
            for tensor in node.inputs():
                result.setdefault(tensor, []).append(node)
        return result

    def producers(self) -> dict[Tensor, Node]:
        """The node that computes each tensor."""
        return {tensor: node for node in self.nodes for tensor in node.outputs}


def is_possible(shape: Sequence[int]) -> bool:
    """Whether a graph file may contain a tensor of this shape. The limit also applies to shapes
    with a zero.
    """
    small = prod(maximum(d, 1) for d in shape) <= MAX_ELEMENTS
    return small and len(shape) <= MAX_RANK and all(d >= 0 for d in shape)


def constant(name: str, values: Array | Deferred, shape: tuple[int, ...] | None = None) -> Tensor:
    """A constant tensor of an array of a supported dtype. A symbolic `shape` has the array's shape
    at the maximum sizes.
    """
    dtype = DType.of(values.dtype)
    assert dtype is not None, f"there is no DType for {values.dtype}"
    if isinstance(values, Deferred):
        return Tensor(name, dtype, values.shape, values)
    data = np.ascontiguousarray(values, dtype=dtype.numpy).reshape(values.shape)
    return Tensor(name, dtype, tuple(values.shape) if shape is None else shape, data)
