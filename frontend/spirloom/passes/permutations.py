"""Moves permutations across elementwise operators and linear layers to where they cancel."""

from __future__ import annotations

from itertools import chain
from math import prod

import numpy as np

from spec_model.traits import Trait
from spirloom.ir import Graph, Node, Tensor, constant
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.cleanup import PERMUTE, VIEW, remove_dead_nodes, simplify_views
from spirloom.passes.data_movement import Moves, call, joined
from spirloom.passes.movement import Movement
from spirloom.passes.rewrite import Matcher, replace_nodes
from spirloom.sizes import maximum_shape


def move_permutations(graph: Graph, library: OpLibrary) -> None:
    """Rewrites relu(permute(x)) to permute(relu(x)), if that does not increase the number of
    permutations.

    Channels-last models have each layer between two permutations, with additions and activations
    between the layers. The permutation after one layer then cancels the one before the next.
    """
    while _Mover(graph, library).run():
        simplify_views(graph, library)


class _Mover:
    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._permutes = {n.outputs[0]: n for n in graph.nodes if n.op == PERMUTE}
        self._uses = graph.uses()

    def run(self) -> bool:
        """Moves permutations where possible. Returns whether any moved."""
        nodes: list[Node] = []
        for node in self._graph.nodes:
            moved = (
                self._moved(node) if self._library.has_trait(node.op, Trait.ELEMENTWISE) else None
            )
            if moved is None:
                nodes.append(node)
            else:
                nodes += moved
                self._permutes[node.outputs[0]] = moved[1]
        changed = len(nodes) > len(self._graph.nodes)
        self._graph.nodes = nodes
        return changed

    def _moved(self, node: Node) -> tuple[Node, Node] | None:
        """The operator on the tensor before permutation, and the permutation of its result."""
        inputs = set(node.inputs())
        permutes = [self._permutes[t] for t in inputs if t in self._permutes]
        if not permutes or not all(self._can_go(p, node) for p in permutes):
            return None
        dims = dims_of(permutes[0])
        if any(dims_of(p) != dims for p in permutes):
            return None
        mapping = {t: _before(t, self._permutes.get(t), dims) for t in inputs}
        sources = {t: source for t, source in mapping.items() if source is not None}
        if len(sources) < len(inputs):
            return None
        inner = Node(node.op, node.args, (), node.name)
        inner.replace_inputs(sources)
        return self._permuted(inner, node, dims)

    def _permuted(self, inner: Node, node: Node, dims: tuple[int, ...]) -> tuple[Node, Node] | None:
        whole = node.outputs[0]
        sizes = dict(zip(dims, whole.shape, strict=True))
        made = Tensor(whole.name, whole.dtype, tuple(sizes[d] for d in range(len(dims))))
        inner.outputs = (made,)
        outer = Node(PERMUTE, (made, dims), (whole,), f"{node.name}.permute")
        try:
            self._library.infer(node.op, inner.args)
            self._library.infer(PERMUTE, outer.args)
        except OpError:
            return None
        return inner, outer

    def _can_go(self, permute: Node, node: Node) -> bool:
        """Whether only inverse permutations read the result, so that the permutation can be
        removed.
        """
        result, undone = permute.outputs[0], _inverse(dims_of(permute))
        return (
            result.shape == node.outputs[0].shape
            and result not in self._graph.results()
            and all(
                user is node or (user.op == PERMUTE and dims_of(user) == undone)
                for user in self._uses[result]
            )
        )


def _before(tensor: Tensor, permute: Node | None, dims: tuple[int, ...]) -> Tensor | None:
    """A tensor whose permutation equals this one up to broadcasting. None if it does not exist
    yet.
    """
    if permute is not None:
        source = permute.args[0]
        assert isinstance(source, Tensor)
        return source
    if prod(tensor.shape) == 1:
        return tensor
    if tensor.data is None:
        return None
    shape = (1,) * (len(dims) - len(tensor.shape)) + tensor.shape
    full, order = tensor.data.reshape(maximum_shape(shape)), _inverse(dims)
    return constant(tensor.name, np.transpose(full, order), tuple(shape[d] for d in order))


def dims_of(permute: Node) -> tuple[int, ...]:
    """The order that a permutation produces."""
    dims = permute.args[1]
    assert isinstance(dims, tuple)
    return tuple(int(d) for d in dims if isinstance(d, int))


def _inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dims.index(d) for d in range(len(dims)))


LINEAR = "aten.linear"


def move_row_permutations(graph: Graph, library: OpLibrary) -> None:
    """Rewrites permute(linear(copy(x))) to linear(permute(copy(x))), and moves a permutation of the
    rows of a linear layer's input to its output where only copies read that.

    Attention of a sequence-first model is between two such layers. Adjacent movements become one
    copy, or strides with which attention reads and writes.
    """
    if not library.has(LINEAR) or not library.has(VIEW):
        return
    before = _Before(graph, library).run()
    if _After(graph, library).run() or before:
        simplify_views(graph, library)


class _Rule:
    """One of the two rules. `_replaced` returns the replacement of each node that a permutation
    affects.
    """

    def __init__(self, graph: Graph, library: OpLibrary) -> None:
        self._graph = graph
        self._library = library
        self._matcher = Matcher(graph)
        self._moves = Moves(graph, library)
        self._uses = graph.uses()
        self._results = set(graph.results())

    def run(self) -> bool:
        """Returns whether anything moved."""
        replacements: dict[Node, list[Node]] = {}
        for node in self._graph.nodes:
            if node.op == PERMUTE and dims_of(node)[-1] == len(dims_of(node)) - 1:
                replacements |= self._replaced(node)
        replace_nodes(self._graph, replacements)
        remove_dead_nodes(self._graph)
        return bool(replacements)

    def _replaced(self, permute: Node) -> dict[Node, list[Node]]:
        raise NotImplementedError

    def _takes_rows(self, layer: Node) -> bool:
        """Whether a layer's result rows depend only on the rows of one tensor."""
        return layer.op == LINEAR and self._library.arg(layer, "addend") is None

    def _is_copy(self, node: Node, move: Movement) -> bool:
        return not self._moves.is_free(node, move)

    def _shaped(self, x: Tensor, shape: tuple[int, ...], name: str) -> tuple[Tensor, list[Node]]:
        """The tensor in a shape, and the view that this requires."""
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
    """Moves a permutation after a layer to its input, where it merges with a copy."""

    def _replaced(self, permute: Node) -> dict[Node, list[Node]]:
        node = self._matcher.inner(permute.args[0])
        while node is not None and _keeps_columns(node):
            node = self._matcher.inner(node.args[0])
        if node is None or not self._takes_rows(node):
            return {}
        source, whole = node.args[0], permute.args[0]
        assert isinstance(source, Tensor) and isinstance(whole, Tensor)
        x, nodes = self._shaped(source, (*whole.shape[:-1], source.shape[-1]), node.name)
        permuted = self._permuted(x, permute)
        if not self._meets(source, self._moves.of(permuted)):
            return {}
        args = self._library.with_args(node, x=permuted.outputs[0])
        layer = Node(node.op, args, permute.outputs, node.name)
        return {node: [*nodes, permuted, layer], permute: []}

    def _meets(self, x: Tensor, moves: Movement | None) -> bool:
        """Whether the copy that produces x merges with this movement."""
        while moves is not None and (node := self._matcher.inner(x)) is not None:
            first, source = self._moves.of(node), node.args[0]
            if first is None or not isinstance(source, Tensor):
                return False
            moves = joined(first, moves)
            if self._is_copy(node, first):
                return moves is not None
            x = source
        return False


class _After(_Rule):
    """Moves a permutation before layers to their outputs, once for each copy that reads them."""

    def _replaced(self, permute: Node) -> dict[Node, list[Node]]:
        (permuted,) = permute.outputs
        layers = [self._layer(permuted, reader) for reader in self._uses.get(permuted, ())]
        found = [layer for layer in layers if layer is not None]
        if permuted in self._results or len(found) < len(layers):
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
        """The layer that reads the rows of a tensor, if it is the only reader."""
        node: Node | None = reader
        if _keeps_columns(reader):
            (x,) = reader.outputs
            node = self._matcher.reader(x)
        if node is None or not self._takes_rows(node) or node.args[0] is not x:
            return None
        return None if node.outputs[0] in self._results else node

    def _moved(self, permute: Node, layer: Node) -> tuple[Node, dict[Node, list[Node]]]:
        """The layer on the tensor before permutation, and for each reader of its result the nodes
        that permute it.
        """
        x, (result,) = permute.args[0], layer.outputs
        assert isinstance(x, Tensor)
        made = Tensor(result.name, result.dtype, (*x.shape[:-1], result.shape[-1]))
        copies: dict[Node, list[Node]] = {}
        for reader in self._uses.get(result, ()):
            permuted = self._permuted(made, permute)
            _, views = self._shaped(permuted.outputs[0], result.shape, layer.name)
            copies[reader] = [permuted, *views]
        args = self._library.with_args(layer, x=x)
        return Node(layer.op, args, (made,), layer.name), copies

    def _meets(self, reader: Node, before: list[Node]) -> bool:
        """Whether a permutation merges with a copy: the reader, or a reader of its view."""
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
    """Whether the node is a view with the same rows."""
    x = node.args[0] if node.op == VIEW else None
    return isinstance(x, Tensor) and x.shape[-1:] == node.outputs[0].shape[-1:]
