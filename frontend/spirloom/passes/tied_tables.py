"""Tables of words that are layers' weights too: both are of what lies on the device once."""

from __future__ import annotations

from spirloom.ir import ArgValue, Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.large_tables import table_of

TIED, LINEAR = "spirloom.tied_embedding", "aten.linear"
_PICKING = ("aten.embedding", "aten.index_select")


def tie_tables(graph: Graph, library: OpLibrary) -> None:
    """Picks rows of a table that is a layer's weight from the weight as the layer has it.

    Layers' weights lie on a device in an order of their own; the table in its own order would lie
    beside. Equal constants are one already.
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
    if y.shape != (*index.shape, *table.shape[1:]):  # a number picks one row as one of one does
        return node
    args = library.complete(TIED, {"weight": table, "index": index})
    return Node(TIED, args, node.outputs, node.name)
