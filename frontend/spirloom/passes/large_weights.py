"""Splits layers and tables whose weight is larger than what every Vulkan device can bind."""

from __future__ import annotations

from math import ceil

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.large_tables import columns, rows, split_table, table_of
from spirloom.passes.quantised import LAYERS_OF_ROUNDED
from spirloom.passes.residuals import split_residual

# The least maxStorageBufferRange that Vulkan guarantees, in bytes.
LARGEST_WEIGHT = 1 << 27

_LAYERS = (
    "aten.linear",
    "aten.convolution",
    *LAYERS_OF_ROUNDED,
)
# What has an element for each output feature, the last dimension's.
_OF_FEATURES = ("bias", "scales", "zeros", "offsets")

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
    if node.op not in _LAYERS:
        return None
    weight = library.arg(node, "weight")
    if not isinstance(weight, Tensor) or weight.data is None or weight.size <= largest:
        return None
    others = (value for value in _cut(library, node).values() if isinstance(value, Tensor))
    if any(value.data is None for value in others):
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
    """The arguments of a layer of which a part has its features'."""
    names = [name for name in ("weight", *_OF_FEATURES) if library.has_arg(node.op, name)]
    return {name: library.arg(node, name) for name in names}


def _part(name: str, value: ArgValue, start: int, count: int, part: int) -> Tensor | None:
    """Some features of a constant, if there is one."""
    if not isinstance(value, Tensor):
        return None
    cut = columns if name in _OF_FEATURES else rows
    return cut(value, start, count, part)
