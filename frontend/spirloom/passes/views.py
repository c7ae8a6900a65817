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
            _join_permutations(library, node, producers)
            if library.has(VIEW) and _keeps_order(library, node):
                args = {"x": node.args[0], "size": node.outputs[0].shape}
                node.op, node.args = VIEW, library.complete(VIEW, args)
        if node.op == VIEW:
            source = _origin(node.args[0], producers)
            node.args = library.with_args(node, x=source, size=node.outputs[0].shape)
    dropped = {
        node.outputs[0]: node.args[0]
        for node in graph.nodes
        if node.op in (VIEW, PERMUTE) and _does_nothing(library, node)
    }
    results = set(graph.results())
    mapping = {
        old: new for old, new in dropped.items() if isinstance(new, Tensor) and old not in results
    }
    replace_tensors(graph, mapping)
    remove_dead_nodes(graph)


def _origin(value: object, producers: dict[Tensor, Node]) -> Tensor:
    """What a view is a view of, through any number of views."""
    assert isinstance(value, Tensor)
    node = producers.get(value)
    return _origin(node.args[0], producers) if node is not None and node.op == VIEW else value


def _join_permutations(library: OpLibrary, node: Node, producers: dict[Tensor, Node]) -> None:
    source, dims = node.args[0], _dims(library, node)
    assert isinstance(source, Tensor)
    inner = producers.get(source)
    if inner is not None and inner.op == PERMUTE:
        first = _dims(library, inner)
        joined = tuple(first[d] for d in dims)
        node.args = library.with_args(node, x=inner.args[0], dims=joined)


def _keeps_order(library: OpLibrary, node: Node) -> bool:
    """Whether a permutation only moves dimensions of size 1, so that elements keep their order."""
    source = node.args[0]
    assert isinstance(source, Tensor)
    moved = [d for d in _dims(library, node) if source.shape[d] != 1]
    return moved == sorted(moved)


def _does_nothing(library: OpLibrary, node: Node) -> bool:
    source = node.args[0]
    assert isinstance(source, Tensor)
    if source.shape != node.outputs[0].shape:
        return False
    if node.op == VIEW:
        return True
    dims = _dims(library, node)
    return list(dims) == sorted(dims)


def _dims(library: OpLibrary, node: Node) -> tuple[int, ...]:
    """The order a permutation gives."""
    value = library.arg(node, "dims")
    assert isinstance(value, tuple)
    return tuple(int(v) for v in value if isinstance(v, int))
