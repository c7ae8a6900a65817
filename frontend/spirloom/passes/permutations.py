"""Moves permutations behind elementwise operators, where they meet others that undo them."""

from __future__ import annotations

from math import prod

import numpy as np

from spirloom.ir import Graph, Node, Tensor, constant
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.views import PERMUTE, simplify_views


def move_permutations(graph: Graph, library: OpLibrary) -> None:
    """relu(permute(x)) becomes permute(relu(x)), as often as that leaves no more permutations.

    Models of channels last have layers between two permutations, and sums and activations between
    the layers: those that end one layer and begin the next then cancel.
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
        """Moves what can be; whether anything was."""
        nodes: list[Node] = []
        for node in self._graph.nodes:
            moved = self._moved(node) if self._library.is_elementwise(node.op) else None
            if moved is None:
                nodes.append(node)
            else:
                nodes += moved
                self._permutes[node.outputs[0]] = moved[1]
        changed = len(nodes) > len(self._graph.nodes)
        self._graph.nodes = nodes
        return changed

    def _moved(self, node: Node) -> tuple[Node, Node] | None:
        """The operator of what is not permuted yet, and the permutation of its result."""
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
        """Whether nothing else needs the permutation but what undoes it, so that it is dropped."""
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
    """What, permuted, is the tensor as far as broadcasting tells; None if there is nothing yet."""
    if permute is not None:
        source = permute.args[0]
        assert isinstance(source, Tensor)
        return source
    if prod(tensor.shape) == 1:
        return tensor
    if tensor.data is None:
        return None
    full = tensor.data.reshape((1,) * (len(dims) - tensor.data.ndim) + tensor.shape)
    return constant(tensor.name, np.transpose(full, _inverse(dims)))


def dims_of(permute: Node) -> tuple[int, ...]:
    """The order that a permutation gives."""
    dims = permute.args[1]
    assert isinstance(dims, tuple)
    return tuple(int(d) for d in dims if isinstance(d, int))


def _inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(dims.index(d) for d in range(len(dims)))
