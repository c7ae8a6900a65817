"""What is found out about the nodes of a model."""

from __future__ import annotations

from dataclasses import dataclass, field

from onnx import NodeProto, TypeProto

from spirloom.interval import Interval
from spirloom.ir import Array, Graph, Node, Tensor
from spirloom.onnx.functions import used_names


@dataclass(slots=True)
class Sorted:
    """What an import says of the nodes of a model; they go by `key_of`."""

    stays: dict[str, str] = field(default_factory=dict)  # and why
    constants: dict[str, Array] = field(default_factory=dict)  # values that nodes need not compute
    types: dict[str, TypeProto] = field(default_factory=dict)  # as far as they are known
    bounds: dict[str, Interval] = field(default_factory=dict)  # of integers
    made: dict[str, list[Node]] = field(default_factory=dict)  # what other nodes became,
    graph: Graph = field(default_factory=Graph)  # all of these,
    tensors: dict[str, Tensor] = field(default_factory=dict)  # and what values became


def key_of(node: NodeProto) -> str:
    """What tells a node from all others of its graph."""
    return next(iter(gives_of(node)), node.name)


def gives_of(node: NodeProto) -> list[str]:
    return [name for name in node.output if name]


def reads_of(node: NodeProto) -> list[str]:
    """What a node reads, in its subgraphs too; not what these give themselves."""
    return sorted(used_names([node]))
