"""A graph in memory: what importers build, passes rewrite and graph_file stores.

Tensors and nodes are compared by identity. A tensor is produced by at most one node; one with
`data` is a constant. Nodes stand in topological order. A graph with symbols is that of their
greatest sizes; ints of its shapes and arguments that vary are `Varying`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from codegen.vocabulary import MAX_RANK, DType, Storage
from spirloom.interval import Interval
from spirloom.sizes import Symbol

__all__ = [
    "MAX_RANK",
    "ArgValue",
    "Array",
    "DType",
    "Graph",
    "Node",
    "State",
    "Storage",
    "Tensor",
    "constant",
    "is_possible",
]

Array = npt.NDArray[Any]

# Of a tensor, in the graph file.
MAX_ELEMENTS = 1 << 48


@dataclass(slots=True, eq=False)
class Tensor:
    """A value of a graph. `name` is a hint except for inputs and outputs.

    `storage` is where it asks to live; None leaves that to the runtime. `bounds` are those of an
    input's numbers that the graph relies on; None where it takes all that the type holds.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    data: Array | None = None
    storage: Storage | None = None
    bounds: Interval | None = None

    @property
    def size(self) -> int:
        """Bytes of the dense array."""
        return prod(self.shape) * self.dtype.numpy.itemsize

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


# Ints are a tuple of int, a tensor list is a non-empty tuple of Tensor.
ArgValue = Tensor | tuple[Tensor, ...] | int | float | bool | tuple[int, ...] | str | None


@dataclass(slots=True, eq=False)
class Node:
    """One call of an operator, with every argument of its schema in order."""

    op: str
    args: tuple[ArgValue, ...]
    outputs: tuple[Tensor, ...]
    name: str = ""

    def inputs(self) -> Iterator[Tensor]:
        """The tensors read, in argument order, repeats included."""
        for arg in self.args:
            if isinstance(arg, Tensor):
                yield arg
            elif isinstance(arg, tuple):
                yield from (item for item in arg if isinstance(item, Tensor))

    def replace_inputs(self, mapping: dict[Tensor, Tensor]) -> None:
        """Reads `mapping[t]` wherever it read t."""
        self.args = tuple(_replaced(arg, mapping) for arg in self.args)


def _replaced(arg: ArgValue, mapping: dict[Tensor, Tensor]) -> ArgValue:
    if isinstance(arg, Tensor):
        return mapping.get(arg, arg)
    if isinstance(arg, tuple) and arg and isinstance(arg[0], Tensor):
        return tuple(mapping.get(t, t) for t in arg if isinstance(t, Tensor))
    return arg


@dataclass(slots=True, eq=False)
class State:
    """A tensor that outlives runs: one begins with what `update` was when the last one ended.

    `tensor`, which no node makes, bears the state's name; `update` has its type, and is `tensor`
    itself where runs leave the state alone. `initial` None: zeros.
    """

    tensor: Tensor
    update: Tensor
    initial: Array | None = None


@dataclass(slots=True, eq=False)
class Graph:
    """A network: its inputs and outputs, and its nodes in topological order.

    `sources` has the lines of the source model's code by the names of nodes, as far as it is known.
    `name` is the method's, where the graph is one of several of a file. `attachments` are what goes
    with the network unread, by name, such as a tokenizer: those of a file are on its first graph.
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

    def given(self) -> list[Tensor]:
        """What a run begins with: inputs, then states."""
        return [*self.inputs, *(state.tensor for state in self.states)]

    def results(self) -> list[Tensor]:
        """What is of use after a run: outputs, then the states' updates."""
        return [*self.outputs, *(state.update for state in self.states)]

    def source_of(self, node: Node) -> str:
        """Where in the source model's code a node comes from, or the first that it was fused of."""
        first = node.name.partition(" + ")[0]
        return self.sources.get(node.name, self.sources.get(first, ""))

    def tensors(self) -> list[Tensor]:
        """Every tensor once: inputs and states, then each node's in order, then results."""
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
        """The node that writes each computed tensor."""
        return {tensor: node for node in self.nodes for tensor in node.outputs}


def is_possible(shape: Sequence[int]) -> bool:
    """Whether a graph file may hold a tensor of this shape; a zero does not excuse large sizes."""
    small = prod(d or 1 for d in shape) <= MAX_ELEMENTS
    return small and len(shape) <= MAX_RANK and min(shape, default=0) >= 0


def constant(name: str, values: Array) -> Tensor:
    """A constant tensor of an array whose type Spirloom has."""
    dtype = DType.of(values.dtype)
    assert dtype is not None, f"no DType for {values.dtype}"
    data = np.ascontiguousarray(values, dtype=dtype.numpy).reshape(values.shape)
    return Tensor(name, dtype, tuple(values.shape), data)
