"""Moves permutations of a linear layer's rows to where other copies take them in."""

from __future__ import annotations

from itertools import chain

from spirloom.ir import Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.moves import Moved, Moves, call, joined
from spirloom.passes.permutations import dims_of
from spirloom.passes.rewrite import Matcher
from spirloom.passes.views import PERMUTE, VIEW, simplify_views

LINEAR = "aten.linear"


def move_rows(graph: Graph, library: OpLibrary) -> None:
    """permute(linear(copy(x))) becomes linear(permute(copy(x))), and what permutes the rows of
    linear(permute(x)) goes behind the layer where nothing but copies reads that.

    Attention in a model of rows first lies between two such. What meets becomes one copy, or steps
    by which attention reads and writes.
    """
    if not library.has(LINEAR) or not library.has(VIEW):
        return
    before = _Before(graph, library).run()
    if _Behind(graph, library).run() or before:
        simplify_views(graph, library)


class _Rule:
    """One of the two: `_replaced` tells for a permutation what takes the place of which nodes."""

    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._matcher = Matcher(graph)
        self._moves = Moves(graph, library)
        self._uses = graph.uses()
        self._results = set(graph.results())

    def run(self) -> bool:
        """Whether anything moved."""
        replacements: dict[Node, list[Node]] = {}
        for node in self._graph.nodes:
            if node.op == PERMUTE and dims_of(node)[-1] == len(dims_of(node)) - 1:
                replacements |= self._replaced(node)
        nodes = self._graph.nodes
        self._graph.nodes = [new for node in nodes for new in replacements.get(node, [node])]
        remove_dead_nodes(self._graph)
        return bool(replacements)

    def _replaced(self, permute: Node) -> dict[Node, list[Node]]:
        raise NotImplementedError

    def _takes_rows(self, layer: Node) -> bool:
        """Whether it is a layer whose result's rows depend on those of one tensor alone."""
        return layer.op == LINEAR and self._library.arg(layer, "addend") is None

    def _is_copy(self, node: Node, moves: Moved) -> bool:
        return not self._moves.is_free(node, moves)

    def _shaped(self, x: Tensor, shape: tuple[int, ...], name: str) -> tuple[Tensor, list[Node]]:
        """The tensor in a shape, and the view that this needs."""
        if x.shape == shape:
            return x, []
        view = Tensor(x.name, x.dtype, shape)
        return view, [Node(VIEW, call(self._library, VIEW, x=x, size=shape), (view,), name)]

    def _permuted(self, x: Tensor, permute: Node) -> Node:
        """The same permutation of another tensor."""
        dims = dims_of(permute)
        made = Tensor(x.name, x.dtype, tuple(x.shape[d] for d in dims))
        return Node(PERMUTE, call(self._library, PERMUTE, x=x, dims=dims), (made,), permute.name)


class _Before(_Rule):
    """A permutation behind a layer goes before it, where it meets a copy."""

    def _replaced(self, permute: Node) -> dict[Node, list[Node]]:
        node = self._matcher.inner(permute.args[0])
        while node is not None and _keeps_columns(node):
            node = self._matcher.inner(node.args[0])
        if node is None or not self._takes_rows(node):
            return {}
        source, whole = node.args[0], permute.args[0]
        assert isinstance(source, Tensor) and isinstance(whole, Tensor)
        x, nodes = self._shaped(source, (*whole.shape[:-1], source.shape[-1]), node.name)
        turned = self._permuted(x, permute)
        if not self._meets(source, self._moves.of(turned)):
            return {}
        args = self._library.with_args(node, x=turned.outputs[0])
        layer = Node(node.op, args, permute.outputs, node.name)
        return {node: [*nodes, turned, layer], permute: []}

    def _meets(self, x: Tensor, moves: Moved | None) -> bool:
        """Whether a copy that gives x is one with what moves it further."""
        while moves is not None and (node := self._matcher.inner(x)) is not None:
            first, source = self._moves.of(node), node.args[0]
            if first is None or not isinstance(source, Tensor):
                return False
            moves = joined(first, moves)
            if self._is_copy(node, first):
                return moves is not None
            x = source
        return False


class _Behind(_Rule):
    """A permutation before layers goes behind them, once for each copy that reads their results."""

    def _replaced(self, permute: Node) -> dict[Node, list[Node]]:
        (turned,) = permute.outputs
        layers = [self._layer(turned, reader) for reader in self._uses.get(turned, ())]
        found = [layer for layer in layers if layer is not None]
        if turned in self._results or len(found) < len(layers):
            return {}
        moved = {layer: self._moved(permute, layer) for layer in found}
        if not all(self._meets(*each) for _, copies in moved.values() for each in copies.items()):
            return {}
        for layer, (_, copies) in moved.items():
            for reader, nodes in copies.items():
                reader.replace_inputs({layer.outputs[0]: nodes[-1].outputs[0]})
        return {
            layer: [made, *chain.from_iterable(copies.values())]
            for layer, (made, copies) in moved.items()
        }

    def _layer(self, x: Tensor, reader: Node) -> Node | None:
        """The layer that takes the rows of a tensor, if it is what reads them."""
        node: Node | None = reader
        if _keeps_columns(reader):
            (x,) = reader.outputs
            node = self._matcher.reader(x)
        if node is None or not self._takes_rows(node) or node.args[0] is not x:
            return None
        return None if node.outputs[0] in self._results else node

    def _moved(self, permute: Node, layer: Node) -> tuple[Node, dict[Node, list[Node]]]:
        """The layer of what is not permuted, and for each reader of its result what permutes it."""
        x, (result,) = permute.args[0], layer.outputs
        assert isinstance(x, Tensor)
        made = Tensor(result.name, result.dtype, (*x.shape[:-1], result.shape[-1]))
        copies: dict[Node, list[Node]] = {}
        for reader in self._uses.get(result, ()):
            turned = self._permuted(made, permute)
            _, views = self._shaped(turned.outputs[0], result.shape, layer.name)
            copies[reader] = [turned, *views]
        args = self._library.with_args(layer, x=x)
        return Node(layer.op, args, (made,), layer.name), copies

    def _meets(self, reader: Node, before: list[Node]) -> bool:
        """Whether a permutation is one with a copy that a reader is, or that reads a view."""
        node: Node | None = reader
        moves = self._moves.of(before[0])
        while node is not None and moves is not None:
            then = self._moves.of(node)
            moves = None if then is None else joined(moves, then)
            if then is not None and self._is_copy(node, then):
                return moves is not None
            node = self._matcher.reader(node.outputs[0])
        return False


def _keeps_columns(node: Node) -> bool:
    """Whether it is a view of the same rows."""
    x = node.args[0] if node.op == VIEW else None
    return isinstance(x, Tensor) and x.shape[-1:] == node.outputs[0].shape[-1:]
