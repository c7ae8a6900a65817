"""Recognises rotary embeddings: pairs of a row's elements turned by angles, in any spelling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spirloom.ir import Graph, Node, Tensor
from spirloom.ops import OpError, OpLibrary
from spirloom.passes.angles import Angles
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.pairs import CAT, Pairs, joined, pairs_of
from spirloom.passes.rewrite import ADD, Matcher, fused_name
from spirloom.passes.views import VIEW

MUL, SUB, NEG = "aten.mul.Tensor", "aten.sub.Tensor", "aten.neg"
ROTARY = "spirloom.rotary_embedding"


@dataclass(frozen=True, slots=True)
class _Rotation:
    pairs: Pairs
    cos: Tensor
    sin: Tensor
    first: Node  # of what is replaced


def fuse_rotary(graph: Graph, library: OpLibrary) -> None:
    """Replaces the last node; cosines and sines may be known, or computed of positions."""
    if not library.has(ROTARY):
        return
    nodes: list[Node] = []
    finder = _Finder(library, Matcher(graph), nodes)
    for node in graph.nodes:
        found = finder.find(node)
        nodes += [node] if found is None else _replaced(library, node, found)
    graph.nodes = nodes
    remove_dead_nodes(graph)


class _Finder:
    def __init__(self, library: OpLibrary, matcher: Matcher, nodes: list[Node]) -> None:
        self._library = library
        self._matcher = matcher
        self._angles = Angles(library, matcher, nodes)

    def find(self, node: Node) -> _Rotation | None:
        """What a node is the last of, if it is one."""
        if node.op == ADD and self._library.is_plain(node):
            return self._sum_of_products(node)
        return self._joined_parts(node) if node.op in (CAT, VIEW) else None

    def _sum_of_products(self, node: Node) -> _Rotation | None:
        """x · cos + (-x₂, x₁) · sin, both tables for all elements"""
        for plain, turned in (node.args[:2], node.args[1::-1]):
            straight, crossed = (self._matcher.inner(v, MUL) for v in (plain, turned))
            if straight is None or crossed is None:
                continue
            for x, cos in _orders(straight):
                for swapped, sin in _orders(crossed):
                    pairs = self._swapped(swapped)
                    if pairs is None or not pairs.are_of(self._matcher, x):
                        continue
                    cosines = self._angles.by_pair(cos, pairs.interleaved)
                    sines = self._angles.by_pair(sin, pairs.interleaved)
                    if cosines is not None and sines is not None:
                        return _Rotation(pairs, cosines, sines, straight)
        return None

    def _swapped(self, value: Tensor) -> Pairs | None:
        """The pairs of which a tensor has (-second, first)."""
        join = joined(self._matcher, value) if self._matcher.private(value) else None
        negative = self._matcher.producer(join.first, NEG) if join is not None else None
        if join is None or negative is None or join.shape != value.shape:
            return None
        pairs = pairs_of(self._library, self._matcher, join.second, negative.args[0])
        alike = pairs is not None and pairs.interleaved == join.interleaved
        return pairs if alike else None

    def _joined_parts(self, node: Node) -> _Rotation | None:
        """(x₁ · cos - x₂ · sin, x₂ · cos + x₁ · sin)"""
        join = joined(self._matcher, node.outputs[0])
        if join is None:
            return None
        first, second = self._products(join.first, SUB), self._products(join.second, ADD)
        if first is None or second is None:
            return None
        others = [{*_tensors(product)} for product in second]
        for x1, cos in _orders(first[0]):
            for x2, sin in _orders(first[1]):
                if sorted(map(_names, others)) != sorted(map(_names, [{x2, cos}, {x1, sin}])):
                    continue
                pairs = pairs_of(self._library, self._matcher, x1, x2)
                if pairs is None or pairs.interleaved != join.interleaved:
                    continue
                cos, sin = self._angles.ranked(cos), self._angles.ranked(sin)
                return _Rotation(pairs, cos, sin, first[0])
        return None

    def _products(self, value: Tensor, op: str) -> tuple[Node, Node] | None:
        """The two products that a sum or difference is of."""
        node = self._matcher.inner(value, op)
        if node is None or not self._library.is_plain(node):
            return None
        a, b = (self._matcher.inner(arg, MUL) for arg in node.args[:2])
        return None if a is None or b is None else (a, b)


def _names(tensors: set[Tensor]) -> list[int]:
    return sorted(map(id, tensors))


def _tensors(product: Node) -> tuple[Tensor, Tensor]:
    a, b = product.args[:2]
    assert isinstance(a, Tensor) and isinstance(b, Tensor)
    return a, b


def _orders(product: Node) -> Iterator[tuple[Tensor, Tensor]]:
    a, b = _tensors(product)
    yield a, b
    yield b, a


def _replaced(library: OpLibrary, node: Node, found: _Rotation) -> list[Node]:
    """The operator, with views before and after it where shapes differ; else the node itself."""
    rows, (result,) = found.pairs.shape, node.outputs
    x, nodes = found.pairs.x, []
    name = fused_name(found.first, node)
    if x.shape != rows:
        nodes.append(_view(library, x, Tensor(x.name, x.dtype, rows), name))
        (x,) = nodes[0].outputs
    turned = result if result.shape == rows else Tensor(result.name, result.dtype, rows)
    given = {"x": x, "cos": found.cos, "sin": found.sin, "interleaved": found.pairs.interleaved}
    try:
        args = library.complete(ROTARY, given)
        if library.infer(ROTARY, args) != [(rows, result.dtype)]:
            return [node]
    except OpError:
        return [node]
    nodes.append(Node(ROTARY, args, (turned,), name))
    return nodes if turned is result else [*nodes, _view(library, turned, result, name)]


def _view(library: OpLibrary, x: Tensor, result: Tensor, name: str) -> Node:
    args = library.complete(VIEW, {"x": x, "size": result.shape})
    return Node(VIEW, args, (result,), name)
