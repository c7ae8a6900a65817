"""Simplifies chains of views and permutations."""

from __future__ import annotations

from spirloom.ir import Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import replace_tensors

VIEW, PERMUTE = "aten.view", "aten.permute"


def simplify_views(graph: Graph, library: OpLibrary) -> None:
    """Joins views of views and permutations of permutations, and drops those that do nothing."""
    producers = graph.producers()
    for node in graph.nodes:
        if node.op == PERMUTE:
            _join_permutations(node, producers)
            if library.has(VIEW) and _keeps_order(node):
                node.op, node.args = VIEW, (node.args[0], node.outputs[0].shape)
        if node.op == VIEW:
            node.args = (_origin(node.args[0], producers), node.outputs[0].shape)
    dropped = {
        node.outputs[0]: node.args[0]
        for node in graph.nodes
        if node.op in (VIEW, PERMUTE) and _does_nothing(node)
    }
    mapping = {
        old: new
        for old, new in dropped.items()
        if isinstance(new, Tensor) and old not in graph.outputs
    }
    replace_tensors(graph, mapping)
    remove_dead_nodes(graph)


def _origin(value: object, producers: dict[Tensor, Node]) -> Tensor:
    """What a view is a view of, through any number of views."""
    assert isinstance(value, Tensor)
    node = producers.get(value)
    return _origin(node.args[0], producers) if node is not None and node.op == VIEW else value


def _join_permutations(node: Node, producers: dict[Tensor, Node]) -> None:
    source, dims = node.args[0], _ints(node.args[1])
    assert isinstance(source, Tensor)
    inner = producers.get(source)
    if inner is not None and inner.op == PERMUTE:
        first = _ints(inner.args[1])
        node.args = (inner.args[0], tuple(first[d] for d in dims))


def _keeps_order(node: Node) -> bool:
    """Whether a permutation only moves dimensions of size 1, so that elements keep their order."""
    source = node.args[0]
    assert isinstance(source, Tensor)
    moved = [d for d in _ints(node.args[1]) if source.shape[d] != 1]
    return moved == sorted(moved)


def _does_nothing(node: Node) -> bool:
    source = node.args[0]
    assert isinstance(source, Tensor)
    if source.shape != node.outputs[0].shape:
        return False
    return node.op == VIEW or list(_ints(node.args[1])) == sorted(_ints(node.args[1]))


def _ints(value: object) -> tuple[int, ...]:
    assert isinstance(value, tuple)
    return tuple(int(v) for v in value)
