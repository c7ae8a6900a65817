"""Spares attention what its operator knows: shared heads written out, and masks that are causal."""

from __future__ import annotations

import numpy as np

from spirloom.ir import Array, DType, Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import Matcher
from spirloom.passes.views import VIEW

ATTENTION = "aten.scaled_dot_product_attention"
EXPAND, UNSQUEEZE = "aten.expand", "aten.unsqueeze"
REPEAT = "aten.repeat_interleave.self_int"
# What is added to a score and is no greater leaves nothing of it beside a score that it spares.
_HIDDEN = {DType.F32: -1e30, DType.F16: float(np.finfo(np.float16).min)}


def simplify_attention(graph: Graph, library: OpLibrary) -> None:
    """Keys and values are read as they were before their heads were repeated; a known mask that
    hides the later keys, or none, becomes no tensor."""
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


# A tensor, and the shape by heads in which it is wanted.
_Headed = tuple[Tensor, tuple[int, ...]]


def _heads(headed: _Headed) -> int:
    return headed[1][-3]


def _fewer(matcher: Matcher, value: object) -> _Headed | None:
    """What a tensor has the heads of, each several times in a row."""
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
        wide = expand.outputs[0].shape if expand is not None else ()
        if wide != (*outer, fewer, heads // max(fewer, 1), length, size):
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
    """The tensor in its shape by heads, and the view that this needs."""
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
    queries, keys = query.shape[-2], key.shape[-2]
    shown = np.tri(queries, keys, dtype=np.bool_)
    if _shows(mask.data, shown, _HIDDEN[mask.dtype]):
        node.args = library.with_args(node, attn_mask=None, is_causal=True)
    elif not mask.data.any():
        node.args = library.with_args(node, attn_mask=None)


def _shows(mask: Array, shown: Array, hidden: float) -> bool:
    """Whether it is 0 where a query sees a key, and hides all others."""
    return bool(((mask == 0) & shown | (mask <= hidden) & ~shown).all())
