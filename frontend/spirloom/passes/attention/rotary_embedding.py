"""Recognizes rotary embeddings (RoPE): pairs of elements rotated by cosine and sine tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spec_model.traits import Trait
from spirloom.ir import Array, Graph, Node, Tensor, constant
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.attention.rotary_pairs import CAT, SLICE, UNSQUEEZE, Pairs, joined, pairs_of
from spirloom.passes.cleanup import VIEW, remove_dead_nodes
from spirloom.passes.rewrite import ADD, MUL, NEG, SUB, Matcher, fused_name
from spirloom.sizes import maximum_shape

EXPAND, REPEAT = "aten.expand", "aten.repeat_interleave.self_int"
_ROWS_KEPT = (VIEW, UNSQUEEZE, EXPAND)
_MAX_NODES = 12


class Angles:
    """Cosine and sine tables with one element per pair, each built once. New nodes are appended to
    `nodes`.
    """

    def __init__(self, library: OpLibrary, matcher: Matcher, nodes: list[Node]) -> None:
        self._library = library
        self._matcher = matcher
        self._nodes = nodes
        self._made: dict[tuple[Tensor, bool], Tensor | None] = {}
        self._cut: dict[tuple[Tensor, bool], Tensor] = {}

    def by_pair(self, table: Tensor, interleaved: bool) -> Tensor | None:
        """Reduces a table with one entry per element. None if the two elements of a pair may
        differ.
        """
        key = (table, interleaved)
        if key not in self._made:
            found = self._by_pair(table, interleaved)
            self._made[key] = None if found is None else self.ranked(found)
        return self._made[key]

    def ranked(self, table: Tensor) -> Tensor:
        """The table with a dimension for positions."""
        return table if len(table.shape) > 1 else self._viewed(table, (1, *table.shape))

    def _by_pair(self, table: Tensor, interleaved: bool) -> Tensor | None:
        if not table.shape or table.shape[-1] % 2 or not self._is_double(table, interleaved):
            return None
        if table.data is not None:
            shape = (*table.shape[:-1], table.shape[-1] // 2)
            return constant(table.name, _firsts(table.data, interleaved), shape)
        root = self._root(table)
        if (root, interleaved) not in self._cut:
            self._cut[root, interleaved] = self._firsts_of(root, interleaved)
        shape = (*table.shape[:-1], table.shape[-1] // 2)
        return self._viewed(self._cut[root, interleaved], shape)

    def _is_double(self, table: Tensor, interleaved: bool, limit: int = _MAX_NODES) -> bool:
        if table.data is not None:
            first, second = _firsts(table.data, interleaved), _seconds(table.data, interleaved)
            return bool(np.array_equal(first, second, equal_nan=table.data.dtype.kind == "f"))
        node = self._matcher.producer(table)
        if node is None or limit == 0:
            return False
        x = node.args[0]
        if node.op == REPEAT:
            last = len(table.shape) - 1
            return interleaved and node.args[1] == 2 and node.args[2] in ((-1,), (last,))
        if node.op in (CAT, VIEW):
            join = joined(self._matcher, table)
            if join is not None and join.interleaved == interleaved and join.shape == table.shape:
                return join.first is join.second
        if node.op in _ROWS_KEPT and isinstance(x, Tensor):
            kept = bool(x.shape) and x.shape[-1] == table.shape[-1]
            return kept and self._is_double(x, interleaved, limit - 1)
        if not self._library.has_trait(node.op, Trait.ELEMENTWISE):
            return False
        expanded = [t for t in node.inputs() if t.shape and t.shape[-1] != 1]
        return all(self._is_double(t, interleaved, limit - 1) for t in expanded)

    def _root(self, table: Tensor) -> Tensor:
        """The source that has the same rows, before dimensions were added."""
        node = self._matcher.producer(table, VIEW, UNSQUEEZE)
        x = node.args[0] if node is not None else None
        if not isinstance(x, Tensor) or not x.shape or x.shape[-1] != table.shape[-1]:
            return table
        return self._root(x)

    def _firsts_of(self, x: Tensor, interleaved: bool) -> Tensor:
        size = x.shape[-1]
        part = {"end": size, "step": 2} if interleaved else {"end": size // 2, "step": 1}
        given = {"x": x, "dim": len(x.shape) - 1, "start": 0, **part}
        return self._emit(SLICE, given, (*x.shape[:-1], size // 2), x)

    def _viewed(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        if x.shape == shape:
            return x
        if x.data is not None:
            return constant(x.name, x.data.reshape(maximum_shape(shape)), shape)
        return self._emit(VIEW, {"x": x, "size": shape}, shape, x)

    def _emit(self, op: str, args: dict[str, object], shape: tuple[int, ...], x: Tensor) -> Tensor:
        made = Tensor(x.name, x.dtype, shape)
        maker = self._matcher.producer(x)
        name = maker.name if maker is not None else x.name
        self._nodes.append(Node(op, self._library.complete(op, args), (made,), name))
        return made


def _firsts(data: Array, interleaved: bool) -> Array:
    return data[..., ::2] if interleaved else data[..., : data.shape[-1] // 2]


def _seconds(data: Array, interleaved: bool) -> Array:
    return data[..., 1::2] if interleaved else data[..., data.shape[-1] // 2 :]


ROTARY = "spirloom.rotary_embedding"


@dataclass(frozen=True, slots=True)
class _Rotation:
    pairs: Pairs
    cos: Tensor
    sin: Tensor
    first: Node  # first node of the replaced pattern


def fuse_rotary(graph: Graph, library: OpLibrary) -> None:
    """Replaces the last node of the pattern. Cosines and sines may be constants or computed from
    positions.
    """
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
        """The rotation whose last node this is, if any."""
        if node.op == ADD and self._library.is_plain(node):
            return self._sum_of_products(node)
        return self._joined_parts(node) if node.op in (CAT, VIEW) else None

    def _sum_of_products(self, node: Node) -> _Rotation | None:
        """Recognizes x · cos + (-x₂, x₁) · sin, with tables that have one entry per element."""
        for plain, rotated in (node.args[:2], node.args[1::-1]):
            straight, crossed = (self._matcher.inner(v, MUL) for v in (plain, rotated))
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
        """The pairs of which a tensor holds (-second, first)."""
        join = joined(self._matcher, value) if self._matcher.private(value) else None
        negative = self._matcher.producer(join.first, NEG) if join is not None else None
        if join is None or negative is None or join.shape != value.shape:
            return None
        pairs = pairs_of(self._library, self._matcher, join.second, negative.args[0])
        alike = pairs is not None and pairs.interleaved == join.interleaved
        return pairs if alike else None

    def _joined_parts(self, node: Node) -> _Rotation | None:
        """Recognizes (x₁ · cos - x₂ · sin, x₂ · cos + x₁ · sin)."""
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
        """The two products that are operands of a sum or difference."""
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
    """The rotary operator, with views around it where shapes differ. The node itself if it does not
    apply.
    """
    rows, (result,) = found.pairs.shape, node.outputs
    x, nodes = found.pairs.x, []
    name = fused_name(found.first, node)
    if x.shape != rows:
        nodes.append(_view(library, x, Tensor(x.name, x.dtype, rows), name))
        (x,) = nodes[0].outputs
    rotated = result if result.shape == rows else Tensor(result.name, result.dtype, rows)
    given = {"x": x, "cos": found.cos, "sin": found.sin, "interleaved": found.pairs.interleaved}
    try:
        args = library.complete(ROTARY, given)
        if library.infer(ROTARY, args) != [(rows, result.dtype)]:
            return [node]
    except OpError:
        return [node]
    nodes.append(Node(ROTARY, args, (rotated,), name))
    return nodes if rotated is result else [*nodes, _view(library, rotated, result, name)]


def _view(library: OpLibrary, x: Tensor, result: Tensor, name: str) -> Node:
    args = library.complete(VIEW, {"x": x, "size": result.shape})
    return Node(VIEW, args, (result,), name)
