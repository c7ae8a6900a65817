"""Small helpers that passes share."""

from __future__ import annotations

from math import isclose

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.ops import OpLibrary

ADD, COPY = "aten.add.Tensor", "aten._to_copy"
# Limits of a tensor's elements, and what they are called.
CLAMPS = {"aten.clamp": ("min", "max"), "aten.hardtanh": ("min_val", "max_val")}


class Matcher:
    """Who makes and who reads each tensor, while a graph is not changed."""

    def __init__(self, graph: Graph) -> None:
        self._producers = graph.producers()
        self._uses = graph.uses()
        self._results = set(graph.results())

    def producer(self, value: object, *ops: str) -> Node | None:
        """The node that makes a tensor, if it is one of these ops."""
        node = self._producers.get(value) if isinstance(value, Tensor) else None
        return node if node is not None and (not ops or node.op in ops) else None

    def inner(self, value: object, *ops: str) -> Node | None:
        """The same, if the tensor is read once and is no result: the node can be absorbed."""
        node = self.producer(value, *ops)
        return node if node is not None and self.private(node.outputs[0]) else None

    def reader(self, tensor: Tensor) -> Node | None:
        """The node that reads a tensor, if it is the only one and the tensor is no result."""
        return self._uses[tensor][0] if self.private(tensor) else None

    def same(self, a: object, b: object, most: int = 3) -> bool:
        """Whether two values are one, or made alike of the same by a few nodes."""
        if a is b or not isinstance(a, Tensor) or not isinstance(b, Tensor):
            return a is b or (not isinstance(a, Tensor) and a == b)
        one, two = self.producer(a), self.producer(b)
        if one is None or two is None or one.op != two.op or most == 0:
            return False
        places = one.outputs.index(a) == two.outputs.index(b)
        args = zip(one.args, two.args, strict=True)
        return places and all(self.same(x, y, most - 1) for x, y in args)

    def private(self, tensor: Tensor, readers: int = 1) -> bool:
        """Whether a tensor is read this often, and is no result of the graph."""
        return len(self._uses.get(tensor, [])) == readers and tensor not in self._results


def limits(library: OpLibrary, node: Node) -> tuple[float, float]:
    """The bounds of one of CLAMPS."""
    low, high = (library.arg(node, name) for name in CLAMPS[node.op])
    assert isinstance(low, float) and isinstance(high, float)
    return low, high


def fused_name(first: Node, *others: Node) -> str:
    """A name that tells what a node was made of: `/block/Conv + Add + Relu`."""
    return " + ".join([first.name, *(node.name.rpartition("/")[2] for node in others)])


def fused(first: Node, last: Node, args: tuple[ArgValue, ...]) -> Node:
    """One call of the first node's op in the place of both."""
    return Node(first.op, args, last.outputs, fused_name(first, last))


def scalar(value: object) -> float | None:
    """The value of a constant with one element."""
    if isinstance(value, Tensor) and value.data is not None and value.data.size == 1:
        return float(value.data.reshape(-1)[0])
    return None


def is_scalar(value: object, expected: float) -> bool:
    """Whether a value is a constant close to the expected one."""
    found = scalar(value)
    return found is not None and isclose(found, expected, rel_tol=1e-6)


def split_scalar(node: Node) -> tuple[Tensor, float] | None:
    """(x, c) for a commutative call with one constant scalar, which does not widen x."""
    for x, c in (node.args[:2], node.args[1::-1]):
        value = scalar(c)
        if value is not None and isinstance(x, Tensor) and x.data is None:
            return (x, value) if x.shape == node.outputs[0].shape else None
    return None


def replace_nodes(graph: Graph, replacements: dict[Node, Node | None]) -> None:
    """Puts nodes in the place of others; None removes one."""
    graph.nodes = [new for node in graph.nodes if (new := replacements.get(node, node)) is not None]


def replace_tensors(graph: Graph, mapping: dict[Tensor, Tensor]) -> None:
    """Reads `mapping[t]` wherever t was read, chains included; results keep their tensors."""
    final = {}
    for tensor in mapping:
        target = tensor
        while target in mapping:
            target = mapping[target]
        final[tensor] = target
    for node in graph.nodes:
        node.replace_inputs(final)
