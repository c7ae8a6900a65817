"""Recognizes decomposed attention: softmax(query · keyᵀ · scale + mask) · value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spirloom.ir import Array, DType, Graph, Node, Tensor
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.cleanup import VIEW, remove_dead_nodes
from spirloom.passes.rewrite import ADD, DIV, MUL, Matcher, fused_name, scalar, split_scalar
from spirloom.sizes import maximum_shape

ATTENTION = "aten.scaled_dot_product_attention"
EXPAND, UNSQUEEZE = "aten.expand", "aten.unsqueeze"
REPEAT = "aten.repeat_interleave.self_int"
# Masked scores: a value at most this large, added to a score, makes its softmax weight 0.
_HIDDEN = {DType.F32: -1e30, DType.F16: float(np.finfo(np.float16).min)}


def simplify_attention(graph: Graph, library: OpLibrary) -> None:
    """Reads keys and values before their heads were repeated (grouped-query attention). Replaces a
    constant causal mask with `is_causal`, and removes a mask of zeros.
    """
    if not library.has(ATTENTION):
        return
    matcher = Matcher(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.op == ATTENTION:
            key, value = (_fewer(matcher, library.arg(node, name)) for name in ("key", "value"))
            if key is not None and value is not None and _heads(key) == _heads(value):
                parts = [_by_heads(library, node, pair) for pair in (key, value)]
                nodes += [view for view, _ in parts if view is not None]
                node.args = library.with_args(node, key=parts[0][1], value=parts[1][1])
            _drop_mask(library, node)
        nodes.append(node)
    graph.nodes = nodes
    remove_dead_nodes(graph)


# A tensor, and its required shape with heads as a dimension.
_Headed = tuple[Tensor, tuple[int, ...]]


def _heads(headed: _Headed) -> int:
    return headed[1][-3]


def _fewer(matcher: Matcher, value: object) -> _Headed | None:
    """The source of a tensor whose heads are each repeated several times in a row."""
    node = matcher.producer(value, VIEW, EXPAND, REPEAT)
    if node is None or not isinstance(value, Tensor) or len(value.shape) < 3:
        return None
    *outer, heads, length, size = value.shape
    x = node.args[0]
    if node.op == VIEW:  # [outer, heads, 1, length, size] → [outer, heads, times, …] → value
        expand = matcher.producer(x, EXPAND)
        x = expand.args[0] if expand is not None else None
        if not isinstance(x, Tensor) or x.shape[-3:] != (1, length, size):
            return None
        fewer = x.shape[-4]
        expanded = expand.outputs[0].shape if expand is not None else ()
        if expanded != (*outer, fewer, heads // max(fewer, 1), length, size):
            return None
        shape = (*outer, fewer, length, size)
        before = matcher.producer(x, UNSQUEEZE, VIEW)
        source = before.args[0] if before is not None else None
        fits = isinstance(source, Tensor) and source.shape == shape
        return (source if fits and isinstance(source, Tensor) else x), shape
    if not isinstance(x, Tensor) or len(x.shape) != len(value.shape):
        return None
    fewer = x.shape[-3]
    one = node.op == REPEAT or fewer == 1
    fits = one and x.shape == (*outer, fewer, length, size)
    return (x, x.shape) if fits else None


def _by_heads(library: OpLibrary, node: Node, headed: _Headed) -> tuple[Node | None, Tensor]:
    """The tensor in its shape with heads, and the view that this requires."""
    x, shape = headed
    if x.shape == shape:
        return None, x
    view = Tensor(x.name, x.dtype, shape)
    return Node(VIEW, library.complete(VIEW, {"x": x, "size": shape}), (view,), node.name), view


def _drop_mask(library: OpLibrary, node: Node) -> None:
    mask = library.arg(node, "attn_mask")
    if not isinstance(mask, Tensor) or mask.data is None or mask.dtype not in _HIDDEN:
        return
    query, key = (library.arg(node, name) for name in ("query", "key"))
    assert isinstance(query, Tensor) and isinstance(key, Tensor)
    # A constant of symbolic sizes is a part of that of the maximum sizes, as the triangle is.
    queries, keys = maximum_shape((query.shape[-2], key.shape[-2]))
    shown = np.tri(queries, keys, dtype=np.bool_)
    if _shows(mask.data, shown, _HIDDEN[mask.dtype]):
        node.args = library.with_args(node, attn_mask=None, is_causal=True)
    elif not mask.data.any():
        node.args = library.with_args(node, attn_mask=None)


def _shows(mask: Array, shown: Array, hidden: float) -> bool:
    """Whether the mask is 0 where `shown` is true and hides all other keys."""
    return bool(((mask == 0) & shown | (mask <= hidden) & ~shown).all())


PRODUCTS = ("aten.matmul", "aten.bmm")
SOFTMAXES = ("aten._softmax", "aten._safe_softmax")
PERMUTE = "aten.permute"


def fuse_attention(graph: Graph, library: OpLibrary) -> None:
    """Replaces the last product with one attention call if nothing else reads the attention
    weights.
    """
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
    """The input of the softmax: the two factors of the product, their scale, and the added mask."""

    query: Tensor
    transposed: Tensor  # the key, with its last two dimensions swapped
    scale: float
    mask: Tensor | None


class _Finder:
    """Recognizes one attention, and builds the nodes that replace it."""

    def __init__(self, library: OpLibrary, matcher: Matcher) -> None:
        self._library = library
        self._matcher = matcher
        self._nodes: list[Node] = []

    def find(self, last: Node) -> list[Node] | None:
        """The nodes that replace the last product. None if it is not part of an attention."""
        weights = self._view_source(last.args[0])
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
            return None  # shapes that the operator cannot broadcast as the products do

    def _scores(self, value: object) -> _Scores | None:
        mask = None
        plus = self._matcher.inner(value, ADD)
        if plus is not None and self._library.is_plain(plus):
            for x, other in (plus.args[:2], plus.args[1::-1]):
                full = isinstance(x, Tensor) and x.shape == plus.outputs[0].shape
                if full and isinstance(other, Tensor) and self._product(x) is not None:
                    value, mask = x, other
                    break
        product = self._product(value)
        if product is None:
            return None
        node, scale = product
        (query, of_query), (transposed, of_key) = map(self._unscaled, node.args[:2])
        scale *= of_query * of_key
        if not isinstance(query, Tensor) or not isinstance(transposed, Tensor) or scale == 0:
            return None
        return _Scores(query, transposed, scale, mask)

    def _product(self, value: object) -> tuple[Node, float] | None:
        """The product (and its scale) that a tensor is a multiple of, if nothing else reads it."""
        scale = 1.0
        node = self._matcher.inner(value, MUL, DIV)
        if node is not None:
            found = self._scaled(node)
            if found is None:
                return None
            value, scale = found
        product = self._matcher.inner(self._view_source(value), *PRODUCTS)
        return None if product is None else (product, scale)

    def _view_source(self, value: object) -> object:
        """The source of a view that keeps the matrices, otherwise the value itself."""
        view = self._matcher.inner(value, VIEW)
        x = view.args[0] if view is not None else None
        same = (
            isinstance(x, Tensor) and isinstance(value, Tensor) and x.shape[-2:] == value.shape[-2:]
        )
        return x if same else value

    def _unscaled(self, value: object) -> tuple[object, float]:
        """A factor of the product, and the constant that it is multiplied by."""
        value = self._view_source(value)
        node = self._matcher.producer(value, MUL, DIV)
        found = self._scaled(node) if node is not None else None
        return (value, 1.0) if found is None else found

    def _scaled(self, node: Node) -> tuple[Tensor, float] | None:
        """Returns (x, c) of x · c or x / c."""
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
        key = self._transposed_back(scores.transposed)
        parts = [x and self._by_heads(x, heads) for x in (scores.query, key, value)]
        if None in parts:
            return None
        (result,) = last.outputs
        expected = (*heads, *result.shape[-2:])
        given = dict(zip(("query", "key", "value"), parts, strict=True))
        args = self._library.complete(
            ATTENTION, {**given, "attn_mask": scores.mask, "scale": scores.scale}
        )
        ((shape, dtype),) = self._library.infer(ATTENTION, args)
        if shape != expected or dtype is not result.dtype:
            return None
        name = fused_name(softmax, last)
        if shape == result.shape:
            return [*self._nodes, Node(ATTENTION, args, (result,), name)]
        made = Tensor(result.name, dtype, shape)
        attention = Node(ATTENTION, args, (made,), name)
        return [*self._nodes, attention, self._view(made, result, last.name)]

    def _transposed_back(self, transposed: Tensor) -> Tensor | None:
        """The key, if a permutation of it is the second factor."""
        permute = self._matcher.producer(transposed, PERMUTE)
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
        """Matrices in the shape with heads that the softmax has."""
        shape = (*heads, *x.shape[-2:])
        expanded = Tensor(x.name, x.dtype, shape)
        if len(x.shape) == len(shape):
            return x
        if expanded.size != x.size:
            return None
        self._nodes.append(self._view(x, expanded, x.name))
        return expanded

    def _view(self, x: Tensor, result: Tensor, name: str) -> Node:
        args = self._library.complete(VIEW, {"x": x, "size": result.shape})
        return Node(VIEW, args, (result,), name)
