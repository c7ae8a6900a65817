"""Recognises rotary embeddings that are spelled with halves: x · cos + cat(-x₂, x₁) · sin."""

from __future__ import annotations

import numpy as np

from spirloom.ir import Graph, Node, Tensor, constant
from spirloom.ops import OpLibrary
from spirloom.passes.cleanup import remove_dead_nodes
from spirloom.passes.rewrite import Matcher, fused_name

MUL, ADD, ROTARY = "aten.mul.Tensor", "aten.add.Tensor", "spirloom.rotary_embedding"


def fuse_rotary(graph: Graph, library: OpLibrary) -> None:
    """Replaces the last sum; cosines and sines are known at import, one row for each position."""
    if not library.has(ROTARY):
        return
    matcher = Matcher(graph)
    tables: dict[Tensor, Tensor] = {}
    for node in graph.nodes:
        if node.op != ADD or not library.is_plain(node):
            continue
        found = _parts(matcher, library, node)
        if found is None:
            continue
        x, cos, sin, first = found
        for table in (cos, sin):
            if table not in tables:
                tables[table] = _rows(table, x)
        args = {"x": x, "cos": tables[cos], "sin": tables[sin]}
        node.op, node.args = ROTARY, library.complete(ROTARY, args)
        node.name = fused_name(first, node)
    remove_dead_nodes(graph)


def _parts(
    matcher: Matcher, library: OpLibrary, node: Node
) -> tuple[Tensor, Tensor, Tensor, Node] | None:
    """x, cos and sin, and the first of the nodes."""
    for plain, turned in (node.args[:2], node.args[1::-1]):
        straight, crossed = matcher.inner(plain, MUL), matcher.inner(turned, MUL)
        if straight is None or crossed is None:
            continue
        for x, cos in (straight.args[:2], straight.args[1::-1]):
            for halves, sin in (crossed.args[:2], crossed.args[1::-1]):
                tensors = isinstance(cos, Tensor) and isinstance(sin, Tensor)
                if not tensors or not isinstance(x, Tensor):
                    continue
                if _swapped(matcher, library, halves) is x and _fit(x, cos) and _fit(x, sin):
                    assert isinstance(cos, Tensor) and isinstance(sin, Tensor)
                    return x, cos, sin, straight
    return None


def _swapped(matcher: Matcher, library: OpLibrary, value: object) -> Tensor | None:
    """x of cat(-x₂, x₁) along the last dimension."""
    joined = matcher.inner(value, "aten.cat")
    parts = joined.args[0] if joined is not None else None
    if joined is None or not isinstance(parts, tuple) or len(parts) != 2:
        return None
    rank = len(joined.outputs[0].shape)
    negative = matcher.producer(parts[0], "aten.neg")
    second = _half(matcher, library, negative.args[0], 1) if negative is not None else None
    first = _half(matcher, library, parts[1], 0)
    return first if first is second and joined.args[1] in (-1, rank - 1) else None


def _half(matcher: Matcher, library: OpLibrary, value: object, which: int) -> Tensor | None:
    """x of one half of its last dimension."""
    cut = matcher.producer(value, "aten.slice.Tensor")
    x = cut.args[0] if cut is not None else None
    if cut is None or not isinstance(x, Tensor):
        return None
    size = x.shape[-1]
    wanted = (size // 2 * which, size // 2 * (which + 1), 1)
    given = tuple(library.arg(cut, name) for name in ("start", "end", "step"))
    dim = library.arg(cut, "dim")
    return x if size % 2 == 0 and given == wanted and dim in (-1, len(x.shape) - 1) else None


def _fit(x: Tensor, table: object) -> bool:
    """Whether it is known, has a row for each position, and both halves of one are the same."""
    if not isinstance(table, Tensor) or table.data is None or len(x.shape) < 2:
        return False
    if table.data.size != x.shape[-2] * x.shape[-1] or table.shape[-2:] != x.shape[-2:]:
        return False
    half = x.shape[-1] // 2
    return bool(np.array_equal(table.data[..., :half], table.data[..., half:], equal_nan=True))


def _rows(table: Tensor, x: Tensor) -> Tensor:
    assert table.data is not None
    rows = table.data.reshape(x.shape[-2:])[:, : x.shape[-1] // 2]
    return constant(table.name, rows)
