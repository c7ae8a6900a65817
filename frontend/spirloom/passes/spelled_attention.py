"""Recognises attention spelled out: softmax(query · keyᵀ · scale + mask) · value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spirloom.ir import Graph, Node, Tensor
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.attention import ATTENTION
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import ADD, Matcher, fused_name, scalar, split_scalar
from spirloom.passes.views import VIEW

PRODUCTS = ("aten.matmul", "aten.bmm")
SOFTMAXES = ("aten._softmax", "aten._safe_softmax")
MUL, DIV, PERMUTE = "aten.mul.Tensor", "aten.div.Tensor", "aten.permute"


def fuse_attention(graph: Graph, library: OpLibrary) -> None:
    """Replaces the last product by one call, where nothing else reads the weights."""
    if not library.has(ATTENTION):
        return
    matcher = Matcher(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        found = _Finder(library, matcher).find(node) if node.op in PRODUCTS else None
        nodes += [node] if found is None else found
    graph.nodes = nodes
    remove_dead_nodes(graph)


@dataclass(frozen=True, slots=True)
class _Scores:
    """What the softmax takes: the product's two tensors, their scale, and what is added."""

    query: Tensor
    turned: Tensor  # the key, its last two dims swapped
    scale: float
    mask: Tensor | None


class _Finder:
    """Looks for one attention, and makes the nodes that take its place."""

    def __init__(self, library: OpLibrary, matcher: Matcher) -> None:
        self._library = library
        self._matcher = matcher
        self._nodes: list[Node] = []

    def find(self, last: Node) -> list[Node] | None:
        """The nodes in the place of the last product; None where it is of no attention."""
        weights = self._behind_view(last.args[0])
        softmax = self._matcher.inner(weights, *SOFTMAXES)
        value = last.args[1]
        if softmax is None or not isinstance(value, Tensor):
            return None
        shape = softmax.outputs[0].shape
        if len(shape) not in (3, 4) or self._library.arg(softmax, "dim") not in (
            -1,
            len(shape) - 1,
        ):
            return None
        scores = self._scores(softmax.args[0])
        if scores is None:
            return None
        try:
            return self._replaced(last, softmax, scores, value, shape[:-2])
        except OpError:
            return None  # of shapes that the operator does not broadcast as the products do

    def _scores(self, value: object) -> _Scores | None:
        mask = None
        plus = self._matcher.inner(value, ADD)
        if plus is not None and self._library.is_plain(plus):
            for x, other in (plus.args[:2], plus.args[1::-1]):
                whole = isinstance(x, Tensor) and x.shape == plus.outputs[0].shape
                if whole and isinstance(other, Tensor) and self._product(x) is not None:
                    value, mask = x, other
                    break
        product = self._product(value)
        if product is None:
            return None
        node, scale = product
        (query, of_query), (turned, of_key) = map(self._unscaled, node.args[:2])
        scale *= of_query * of_key
        if not isinstance(query, Tensor) or not isinstance(turned, Tensor) or scale == 0:
            return None
        return _Scores(query, turned, scale, mask)

    def _product(self, value: object) -> tuple[Node, float] | None:
        """The product that a tensor is a multiple of, which nothing else reads."""
        scale = 1.0
        node = self._matcher.inner(value, MUL, DIV)
        if node is not None:
            found = self._scaled(node)
            if found is None:
                return None
            value, scale = found
        product = self._matcher.inner(self._behind_view(value), *PRODUCTS)
        return None if product is None else (product, scale)

    def _behind_view(self, value: object) -> object:
        """What a tensor of the same matrices is a view of."""
        view = self._matcher.inner(value, VIEW)
        x = view.args[0] if view is not None else None
        same = (
            isinstance(x, Tensor) and isinstance(value, Tensor) and x.shape[-2:] == value.shape[-2:]
        )
        return x if same else value

    def _unscaled(self, value: object) -> tuple[object, float]:
        """A factor of the product, and a number by which it is multiplied."""
        value = self._behind_view(value)
        node = self._matcher.producer(value, MUL, DIV)
        found = self._scaled(node) if node is not None else None
        return (value, 1.0) if found is None else found

    def _scaled(self, node: Node) -> tuple[Tensor, float] | None:
        """(x, c) of x · c or x / c."""
        if not self._library.is_plain(node):
            return None
        if node.op == MUL:
            return split_scalar(node)
        x, by = node.args[0], scalar(node.args[1])
        same = isinstance(x, Tensor) and x.data is None and x.shape == node.outputs[0].shape
        return (x, 1 / by) if same and isinstance(x, Tensor) and by else None

    def _replaced(
        self, last: Node, softmax: Node, scores: _Scores, value: Tensor, heads: Sequence[int]
    ) -> list[Node] | None:
        key = self._turned_back(scores.turned)
        parts = [x and self._by_heads(x, heads) for x in (scores.query, key, value)]
        if None in parts:
            return None
        (result,) = last.outputs
        wanted = (*heads, *result.shape[-2:])
        given = dict(zip(("query", "key", "value"), parts, strict=True))
        args = self._library.complete(
            ATTENTION, {**given, "attn_mask": scores.mask, "scale": scores.scale}
        )
        ((shape, dtype),) = self._library.infer(ATTENTION, args)
        if shape != wanted or dtype is not result.dtype:
            return None
        name = fused_name(softmax, last)
        if shape == result.shape:
            return [*self._nodes, Node(ATTENTION, args, (result,), name)]
        made = Tensor(result.name, dtype, shape)
        attention = Node(ATTENTION, args, (made,), name)
        return [*self._nodes, attention, self._view(made, result, last.name)]

    def _turned_back(self, turned: Tensor) -> Tensor | None:
        """The key, of which a permutation made the second factor."""
        permute = self._matcher.producer(turned, PERMUTE)
        if permute is None:
            return None
        x, dims = permute.args[:2]
        if not isinstance(x, Tensor) or not isinstance(dims, tuple):
            return None
        *outer, rows, columns = (d % len(dims) for d in dims if isinstance(d, int))
        order = [*outer, columns, rows]
        if order == list(range(len(order))):
            return x
        shape = tuple(x.shape[d] for d in order)
        key = Tensor(x.name, x.dtype, shape)
        args = self._library.complete(PERMUTE, {"x": x, "dims": tuple(order)})
        self._nodes.append(Node(PERMUTE, args, (key,), permute.name))
        return key

    def _by_heads(self, x: Tensor, heads: Sequence[int]) -> Tensor | None:
        """Matrices in the shape by heads that the softmax has."""
        shape = (*heads, *x.shape[-2:])
        wide = Tensor(x.name, x.dtype, shape)
        if len(x.shape) == len(shape):
            return x
        if wide.size != x.size:
            return None
        self._nodes.append(self._view(x, wide, x.name))
        return wide

    def _view(self, x: Tensor, result: Tensor, name: str) -> Node:
        args = self._library.complete(VIEW, {"x": x, "size": result.shape})
        return Node(VIEW, args, (result,), name)
