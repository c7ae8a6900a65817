"""Splits layers and tables whose weight is larger than what every Vulkan device can bind."""

from __future__ import annotations

from math import ceil

from spirloom.ir import Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.large_tables import rows, split_table, table_of
from spirloom.passes.residuals import split_residual

# The least maxStorageBufferRange that Vulkan guarantees, in bytes.
LARGEST_WEIGHT = 1 << 27

# Packed weights are padded to multiples of this many output features.
_FEATURES = 32


def split_weights(graph: Graph, library: OpLibrary, largest: int = LARGEST_WEIGHT) -> None:
    """Computes a layer with a constant weight of more than `largest` bytes in parts.

    Each part makes some of the output features, activation included; aten.cat joins them. Tables
    of which rows are picked are cut as linear layers are, so that tied weights stay one.
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
    """How many output features each part makes; None for a node that stays whole."""
    if node.op not in ("aten.linear", "aten.convolution"):
        return None
    weight, bias = library.arg(node, "weight"), library.arg(node, "bias")
    if not isinstance(weight, Tensor) or weight.data is None or weight.size <= largest:
        return None
    if isinstance(bias, Tensor) and bias.data is None:
        return None
    if node.op == "aten.convolution" and library.arg(node, "groups") != 1:
        return None
    return row_counts(weight, largest)


def row_counts(weight: Tensor, largest: int) -> list[int] | None:
    """How many rows of a weight each part has; None where too few rows are too large already."""
    features = weight.shape[0]
    step = largest * features // weight.size
    if step < _FEATURES:  # one group of features is too large by itself
        return None
    parts = ceil(features / (step - step % _FEATURES))
    step = ceil(features / parts / _FEATURES) * _FEATURES
    return [min(step, features - start) for start in range(0, features, step)]


def _split(library: OpLibrary, node: Node, counts: list[int]) -> list[Node]:
    """The parts and the node that joins them; it makes what the whole layer made."""
    whole = node.outputs[0]
    axis = len(whole.shape) - 1 if node.op == "aten.linear" else 1
    nodes, outputs, start = [], [], 0
    for i, count in enumerate(counts):
        cut = {name: _part(library.arg(node, name), start, count, i) for name in ("weight", "bias")}
        shape = (*whole.shape[:axis], count, *whole.shape[axis + 1 :])
        part = Tensor(f"{whole.name}.{i}", whole.dtype, shape)
        nodes.append(Node(node.op, library.with_args(node, **cut), (part,), f"{node.name}.{i}"))
        outputs.append(part)
        start += count
    args = library.complete("aten.cat", {"tensors": tuple(outputs), "dim": axis})
    return [*nodes, Node("aten.cat", args, (whole,), f"{node.name}.join")]


def _part(value: object, start: int, count: int, part: int) -> Tensor | None:
    """Some rows of a constant, if there is one."""
    return rows(value, start, count, part) if isinstance(value, Tensor) else None
