"""Helpers of the passes: graph edits, pattern matching, tensors read as polynomials of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose, prod

from spirloom.ir import ArgValue, DType, Graph, Node, Tensor
from spirloom.op_library import OpLibrary

ADD, COPY = "aten.add.Tensor", "aten._to_copy"
# Operators that limit elements to a range, and the names of their bounds.
CLAMPS = {"aten.clamp": ("min", "max"), "aten.hardtanh": ("min_val", "max_val")}


class Matcher:
    """The producer and the readers of each tensor. Valid while the graph is not changed."""

    def __init__(self, graph: Graph) -> None:
        self._producers = graph.producers()
        self._uses = graph.uses()
        self._results = set(graph.results())

    def producer(self, value: object, *ops: str) -> Node | None:
        """The node that produces a tensor, if its op is one of these."""
        node = self._producers.get(value) if isinstance(value, Tensor) else None
        return node if node is not None and (not ops or node.op in ops) else None

    def inner(self, value: object, *ops: str) -> Node | None:
        """The same, if the tensor has a single reader and is no graph result: the node can be
        absorbed.
        """
        node = self.producer(value, *ops)
        return node if node is not None and self.private(node.outputs[0]) else None

    def reader(self, tensor: Tensor) -> Node | None:
        """The node that reads a tensor, if it is the only one and the tensor is no graph result."""
        return self._uses[tensor][0] if self.private(tensor) else None

    def same(self, a: object, b: object, limit: int = 3) -> bool:
        """Whether two values are one tensor, or computed alike from the same inputs by a few
        nodes.
        """
        if a is b or not isinstance(a, Tensor) or not isinstance(b, Tensor):
            return a is b or (not isinstance(a, Tensor) and a == b)
        one, two = self.producer(a), self.producer(b)
        if one is None or two is None or one.op != two.op or limit == 0:
            return False
        indices = one.outputs.index(a) == two.outputs.index(b)
        args = zip(one.args, two.args, strict=True)
        return indices and all(self.same(x, y, limit - 1) for x, y in args)

    def private(self, tensor: Tensor, readers: int = 1) -> bool:
        """Whether a tensor has this number of readers and is no graph result."""
        return len(self._uses.get(tensor, [])) == readers and tensor not in self._results


def limits(library: OpLibrary, node: Node) -> tuple[float, float]:
    """The bounds of one of CLAMPS."""
    low, high = (library.arg(node, name) for name in CLAMPS[node.op])
    assert isinstance(low, float) and isinstance(high, float)
    return low, high


def fused_name(first: Node, *others: Node) -> str:
    """The name of a fused node, which lists its sources: `/block/Conv + Add + Relu`."""
    return " + ".join([first.name, *(node.name.rpartition("/")[2] for node in others)])


def fused(first: Node, last: Node, args: tuple[ArgValue, ...]) -> Node:
    """One call of the first node's op that replaces both nodes."""
    return Node(first.op, args, last.outputs, fused_name(first, last))


def scalar(value: object) -> float | None:
    """The value of a constant with one element."""
    if not isinstance(value, Tensor) or not value.is_constant or prod(value.shape) != 1:
        return None
    if value.data is not None:
        return float(value.data.reshape(-1)[0])
    return None


def is_scalar(value: object, expected: float) -> bool:
    """Whether a value is a constant close to the expected one."""
    found = scalar(value)
    return found is not None and isclose(found, expected, rel_tol=1e-6)


def split_scalar(node: Node) -> tuple[Tensor, float] | None:
    """Returns (x, c) for a commutative call with one constant scalar that does not broadcast x."""
    for x, c in (node.args[:2], node.args[1::-1]):
        value = scalar(c)
        if value is not None and isinstance(x, Tensor) and not x.is_constant:
            return (x, value) if x.shape == node.outputs[0].shape else None
    return None


def replace_nodes(graph: Graph, replacements: Mapping[Node, Node | Sequence[Node] | None]) -> None:
    """Replaces nodes by one or several nodes. None removes a node."""
    nodes: list[Node] = []
    for node in graph.nodes:
        new = replacements.get(node, node)
        nodes += [new] if isinstance(new, Node) else new or []
    graph.nodes = nodes


def replace_tensors(graph: Graph, mapping: dict[Tensor, Tensor]) -> None:
    """Replaces each use of t with `mapping[t]`, transitively. Graph results keep their tensors."""
    final = {}
    for tensor in mapping:
        target = tensor
        while target in mapping:
            target = mapping[target]
        final[tensor] = target
    for node in graph.nodes:
        node.replace_inputs(final)


MUL, DIV, SUB, NEG = "aten.mul.Tensor", "aten.div.Tensor", "aten.sub.Tensor", "aten.neg"
SQUARE = "aten.square"
POWERS = ("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", SQUARE)
Polynomial = dict[int, float]  # exponent → factor
_MAX_NODES = 8
_MAX_POWER = 4


def polynomial(
    library: OpLibrary, matcher: Matcher, value: object, x: Tensor, limit: int = _MAX_NODES
) -> Polynomial | None:
    """The tensor as a polynomial of x: exponent → factor. None if it has any other term."""
    if value is x:
        return {1: 1.0}
    known = scalar(value)
    if known is not None:
        return {0: known}
    node = matcher.producer(value, ADD, SUB, MUL, DIV, NEG, *POWERS)
    if node is None or limit == 0 or not (node.op in POWERS or library.is_plain(node)):
        return None
    a = polynomial(library, matcher, node.args[0], x, limit - 1)
    if a is None:
        return None
    if node.op == NEG:
        return {e: -f for e, f in a.items()}
    if node.op in POWERS:
        return _power(a, exponent(node))
    b = polynomial(library, matcher, node.args[1], x, limit - 1)
    return None if b is None else _joined(node, a, b)


def _joined(node: Node, a: Polynomial, b: Polynomial) -> Polynomial | None:
    match node.op:
        case "aten.add.Tensor" | "aten.sub.Tensor":
            sign = 1 if node.op == ADD else -1
            return {e: a.get(e, 0.0) + sign * b.get(e, 0.0) for e in {*a, *b}}
        case "aten.mul.Tensor":
            return multiplied(a, b)
    return {e: f / b[0] for e, f in a.items()} if set(b) == {0} and b[0] != 0 else None


def multiplied(a: Polynomial, b: Polynomial) -> Polynomial:
    """The product of two polynomials."""
    result: Polynomial = {}
    for e, f in a.items():
        for d, g in b.items():
            result[e + d] = result.get(e + d, 0.0) + f * g
    return result


def exponent(node: Node) -> float | None:
    """The constant exponent of one of POWERS."""
    if node.op == SQUARE:
        return 2.0
    value = node.args[1]
    return float(value) if isinstance(value, int | float) else scalar(value)


def _power(a: Polynomial, times: float | None) -> Polynomial | None:
    if times is None or times not in range(1, _MAX_POWER + 1):
        return None
    result = a
    for _ in range(int(times) - 1):
        result = multiplied(result, a)
    return result


def is_polynomial(found: Polynomial | None, reference: Polynomial, dtype: DType) -> bool:
    """Whether the factors equal the expected ones within the precision of the dtype."""
    if found is None or set(found) != set(reference):
        return False
    closely = 1e-3 if dtype is DType.F16 else 1e-6
    return all(isclose(found[e], reference[e], rel_tol=closely) for e in reference)
