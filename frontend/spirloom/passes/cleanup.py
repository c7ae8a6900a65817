"""Dead-code elimination, deduplication of constants and calls, simplification of views."""

from __future__ import annotations

from collections.abc import Hashable

from spec_model.traits import Trait
from spirloom.equal_constants import EqualConstants
from spirloom.ir import Graph, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes.rewrite import replace_tensors


def remove_dead_nodes(graph: Graph) -> None:
    """Removes nodes whose outputs no result of the graph depends on."""
    needed = set(graph.results())
    kept = []
    for node in reversed(graph.nodes):
        if any(t in needed for t in node.outputs):
            needed.update(node.inputs())
            kept.append(node)
    graph.nodes = kept[::-1]


def merge_constants(graph: Graph) -> None:
    """Merges constants of equal dtype, shape and bytes."""
    first: dict[Hashable, EqualConstants[Tensor]] = {}
    mapping: dict[Tensor, Tensor] = {}
    for tensor in graph.tensors():
        if tensor.values is not None:
            equal = first.setdefault((tensor.dtype, tensor.shape), EqualConstants())
            kept = equal.setdefault(tensor.values, tensor)
            if kept is not tensor:
                mapping[tensor] = kept
    replace_tensors(graph, mapping)


def merge_equal_calls(graph: Graph, library: OpLibrary) -> None:
    """Replaces calls of an operator with equal arguments by the first of them.

    Movements of elements stay, since an operator that reads them alone can absorb them. States are
    kept apart: a call that reads or computes one is not merged.
    """
    fixed = {*graph.results(), *(state.tensor for state in graph.states)}
    first: dict[Hashable, Node] = {}
    equal: dict[Tensor, Tensor] = {}
    replaced: dict[Tensor, Tensor] = {}
    for node in graph.nodes:
        call = Node(node.op, node.args, node.outputs)
        call.replace_inputs(equal)
        node.replace_inputs(replaced)
        if fixed.isdisjoint((*node.inputs(), *node.outputs)):
            same = first.setdefault(_key(call), node)
            if same is not node:
                equal |= zip(node.outputs, same.outputs, strict=True)
                if not library.has_trait(node.op, Trait.MOVES_DATA):
                    replaced |= zip(node.outputs, same.outputs, strict=True)
    remove_dead_nodes(graph)


def _key(call: Node) -> Hashable:
    """What equal calls have in common: 1, 1.0 and True are equal, but not the same argument."""
    storages = tuple(output.storage for output in call.outputs)
    return call.op, call.args, tuple(map(type, call.args)), storages


VIEW, PERMUTE = "aten.view", "aten.permute"


def simplify_views(graph: Graph, library: OpLibrary) -> None:
    """Merges consecutive views and consecutive permutations, and removes those that have no
    effect.
    """
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
    """The source of a view, through any number of views."""
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
    """Whether a permutation only moves dimensions of size 1, so that the element order is
    unchanged.
    """
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
    """The order that a permutation produces."""
    value = library.arg(node, "dims")
    assert isinstance(value, tuple)
    return tuple(int(v) for v in value if isinstance(v, int))
