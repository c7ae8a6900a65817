"""Splits weights and embedding tables larger than a Vulkan binding, and shares tied embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from spirloom.builder import Builder
from spirloom.ir import ArgValue, DType, Graph, Node, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes.layer_fusion import split_residual
from spirloom.passes.weight_quantization import QUANTIZED_LINEARS
from spirloom.quantized_weights import rows_of

# The argument that holds the table.
_TABLES = {
    "aten.embedding": "x",
    "aten.index_select": "x",
    "spirloom.embedding_bf16": "weight",
    "spirloom.embedding_f8": "weight",
    "spirloom.embedding_w4": "weight",
    "spirloom.embedding_w8": "weight",
}


def table_of(library: OpLibrary, node: Node) -> Tensor | None:
    """The constant whose rows a node gathers."""
    if node.op not in _TABLES:
        return None
    if node.op == "aten.index_select" and library.arg(node, "dim") != 0:
        return None
    table = library.arg(node, _TABLES[node.op])
    return table if isinstance(table, Tensor) and table.is_constant else None


def split_table(library: OpLibrary, node: Node, counts: Sequence[int]) -> list[Node]:
    """Nodes that gather from each part of the table, and select the result of the part that the
    index refers to.
    """
    table, index = library.arg(node, _TABLES[node.op]), library.arg(node, "index")
    assert isinstance(table, Tensor) and isinstance(index, Tensor)
    graph = Graph()
    build = Builder(library, graph)
    build.name = node.name
    if index.bounds is None or index.bounds.low < 0:  # negative indices count from the end
        index = _rest(build, index, sum(counts))
    of_rows = (*index.shape, *[1] * (len(table.shape) - 1))
    result, start = None, 0
    for i, count in enumerate(counts):
        build.name = f"{node.name}.{i}"
        # An index of another part may gather any row here: the result is not selected.
        within = build.emit("aten.sub.Tensor", a=index, b=_whole(build, start)) if i else index
        given = library.named_args(node)
        given[_TABLES[node.op]] = rows(table, start, count, i)
        for name in ("scales", "offsets"):
            if isinstance(value := given.get(name), Tensor):
                cut = columns if given["group_major"] and len(value.shape) > 1 else rows
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
    """A slice along the last dimension of a constant."""
    assert value.data is not None
    return constant(f"{value.name}.{part}", value.data[..., start : start + count])


def rows(value: Tensor, start: int, count: int, part: int) -> Tensor:
    """A slice of the rows of a constant."""
    assert value.values is not None
    return constant(f"{value.name}.{part}", rows_of(value.values, slice(start, start + count)))


TIED, LINEAR = "spirloom.tied_embedding", "aten.linear"
_PICKING = ("aten.embedding", "aten.index_select")


def tie_tables(graph: Graph, library: OpLibrary) -> None:
    """Gathers rows of a tied embedding table from the packed weight of the layer that shares it.

    Layer weights are packed in a different order on the device. The table would otherwise be stored
    twice. Equal constants are merged already.
    """
    if not library.has(TIED):
        return
    weights = {library.arg(node, "weight") for node in graph.nodes if node.op == LINEAR}
    graph.nodes = [_tied(node, library, weights) for node in graph.nodes]


def _tied(node: Node, library: OpLibrary, weights: set[ArgValue]) -> Node:
    table = table_of(library, node)
    if node.op not in _PICKING or table is None or table not in weights:
        return node
    index = library.arg(node, "index")
    assert isinstance(index, Tensor)
    (y,) = node.outputs
    # a scalar index selects one row, like an index with one element
    if y.shape != (*index.shape, *table.shape[1:]):
        return node
    args = library.complete(TIED, {"weight": table, "index": index})
    return Node(TIED, args, node.outputs, node.name)


# The minimum of maxStorageBufferRange that Vulkan guarantees, in bytes.
LARGEST_WEIGHT = 1 << 27

_LAYERS = (
    "aten.linear",
    "aten.convolution",
    *QUANTIZED_LINEARS,
)
# Arguments with one element per output feature, in their last dimension.
_OF_FEATURES = ("bias", "scales", "zeros", "offsets")

# Packed weights are padded to a multiple of this number of output features.
_FEATURES = 32


def split_weights(graph: Graph, library: OpLibrary, largest: int = LARGEST_WEIGHT) -> None:
    """Splits layers that have a constant weight of more than `largest` bytes.

    Each part computes a range of output features, activation included. aten.cat joins the parts.
    Embedding tables are split at the same rows as linear layers, so that tied weights stay shared.
    """
    nodes = []
    for node in graph.nodes:
        table = table_of(library, node)
        if table is not None and table.size > largest:
            parts = row_counts(table, largest)
            nodes += [node] if parts is None else split_table(library, node, parts)
            continue
        counts = _feature_counts(library, node, largest)
        if counts is None:
            nodes.append(node)
        else:
            layer, *rest = split_residual(library, node)
            nodes += [*_split(library, layer, counts), *rest]
    graph.nodes = nodes


def _feature_counts(library: OpLibrary, node: Node, largest: int) -> list[int] | None:
    """The number of output features of each part. None for a node that is not split."""
    if node.op not in _LAYERS:
        return None
    weight = library.arg(node, "weight")
    if not isinstance(weight, Tensor) or not weight.is_constant or weight.size <= largest:
        return None
    others = (value for value in _cut(library, node).values() if isinstance(value, Tensor))
    if not all(value.is_constant for value in others):
        return None
    if node.op == "aten.convolution" and library.arg(node, "groups") != 1:
        return None
    return row_counts(weight, largest)


def row_counts(weight: Tensor, largest: int) -> list[int] | None:
    """The number of rows of each part. None if the minimum number of rows is too large already."""
    features = weight.shape[0]
    step = largest * features // weight.size
    if step < _FEATURES:  # a single group of features exceeds the limit
        return None
    parts = ceil(features / (step - step % _FEATURES))
    step = ceil(features / parts / _FEATURES) * _FEATURES
    return [min(step, features - start) for start in range(0, features, step)]


def _split(library: OpLibrary, node: Node, counts: list[int]) -> list[Node]:
    """The parts and the node that joins them, which produces the output of the original layer."""
    whole = node.outputs[0]
    axis = 1 if node.op == "aten.convolution" else len(whole.shape) - 1
    nodes, outputs, start = [], [], 0
    for i, count in enumerate(counts):
        cut = {
            name: _part(name, value, start, count, i) for name, value in _cut(library, node).items()
        }
        shape = (*whole.shape[:axis], count, *whole.shape[axis + 1 :])
        part = Tensor(f"{whole.name}.{i}", whole.dtype, shape)
        nodes.append(Node(node.op, library.with_args(node, **cut), (part,), f"{node.name}.{i}"))
        outputs.append(part)
        start += count
    args = library.complete("aten.cat", {"tensors": tuple(outputs), "dim": axis})
    return [*nodes, Node("aten.cat", args, (whole,), f"{node.name}.join")]


def _cut(library: OpLibrary, node: Node) -> dict[str, ArgValue]:
    """The arguments of a layer that are sliced by output feature."""
    names = [name for name in ("weight", *_OF_FEATURES) if library.has_arg(node.op, name)]
    return {name: library.arg(node, name) for name in names}


def _part(name: str, value: ArgValue, start: int, count: int, part: int) -> Tensor | None:
    """A range of features of a constant, if present."""
    if not isinstance(value, Tensor):
        return None
    cut = columns if name in _OF_FEATURES else rows
    return cut(value, start, count, part)
