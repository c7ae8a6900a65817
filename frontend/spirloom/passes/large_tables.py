"""Picks rows of a table in parts, as one that is too large to bind is stored."""

from __future__ import annotations

from collections.abc import Sequence

from spirloom.builder import Builder
from spirloom.ir import DType, Graph, Node, Tensor, constant
from spirloom.ops import OpLibrary

# The argument that is the table.
_TABLES = {
    "aten.embedding": "x",
    "aten.index_select": "x",
    "spirloom.embedding_bf16": "weight",
    "spirloom.embedding_q4": "weight",
    "spirloom.embedding_q8": "weight",
}


def table_of(library: OpLibrary, node: Node) -> Tensor | None:
    """The constant whose rows a node picks."""
    if node.op not in _TABLES:
        return None
    if node.op == "aten.index_select" and library.arg(node, "dim") != 0:
        return None
    table = library.arg(node, _TABLES[node.op])
    return table if isinstance(table, Tensor) and table.data is not None else None


def split_table(library: OpLibrary, node: Node, counts: Sequence[int]) -> list[Node]:
    """Nodes that pick from each part, and keep of each what the index meant."""
    table, index = library.arg(node, _TABLES[node.op]), library.arg(node, "index")
    assert isinstance(table, Tensor) and isinstance(index, Tensor)
    graph = Graph()
    build = Builder(library, graph)
    build.name = node.name
    if index.bounds is None or index.bounds.low < 0:  # the last rows, counted from the end
        index = _rest(build, index, sum(counts))
    of_rows = (*index.shape, *[1] * (len(table.shape) - 1))
    result, start = None, 0
    for i, count in enumerate(counts):
        # Any row will do for an index that means another part.
        within = build.emit("aten.sub.Tensor", a=index, b=_whole(build, start)) if i else index
        given = dict(zip(library.arg_names(node.op), node.args, strict=True))
        given[_TABLES[node.op]] = rows(table, start, count, i)
        for name in ("scales", "offsets"):
            if isinstance(value := given.get(name), Tensor):
                cut = columns if given["by_column"] else rows
                given[name] = cut(value, start, count, i)
        given["index"] = _rest(build, within, count)
        picked = build.emit(node.op, **given)
        if result is not None:
            reached = build.emit("aten.ge.Tensor", a=index, b=_whole(build, start))
            reached = build.view(reached, of_rows)
            picked = build.emit("aten.where.self", condition=reached, a=picked, b=result)
        result, start = picked, start + count
    graph.nodes[-1].outputs = node.outputs
    return graph.nodes


def _rest(build: Builder, index: Tensor, count: int) -> Tensor:
    return build.emit("aten.remainder.Tensor", a=index, b=_whole(build, count))


def _whole(build: Builder, number: int) -> Tensor:
    return build.scalar(number, DType.I32)


def columns(value: Tensor, start: int, count: int, part: int) -> Tensor:
    """Some of the last dimension's elements of a constant."""
    assert value.data is not None
    return constant(f"{value.name}.{part}", value.data[..., start : start + count])


def rows(value: Tensor, start: int, count: int, part: int) -> Tensor:
    """Some rows of a constant."""
    assert value.data is not None
    return constant(f"{value.name}.{part}", value.data[start : start + count])
