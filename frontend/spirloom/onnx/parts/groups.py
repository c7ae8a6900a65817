"""Nodes of recognised patterns, through which no cut may go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spirloom.onnx.parts.found import Sorted
from spirloom.ops import OpLibrary
from spirloom.partition import Node
from spirloom.passes import optimize


def groups_of(
    nodes: Sequence[Node], outputs: Iterable[str], found: Sorted, library: OpLibrary
) -> tuple[tuple[int, ...], ...]:
    """Who makes a value that the optimised graph lacks, with those who read it, by places.

    The graph of what was found is changed.
    """
    stay = [node for node in nodes if node.reason]
    needed = dict.fromkeys([*outputs, *(name for node in stay for name in node.reads)])
    graph, tensors = found.graph, found.tensors
    graph.outputs = list(dict.fromkeys(tensors[n] for n in needed if n in tensors))
    made = {tensor for node in graph.nodes for tensor in node.outputs}
    optimize(graph, library)
    gone = made - set(graph.tensors())
    readers: dict[str, list[int]] = {}
    for place, node in enumerate(nodes):
        for name in node.reads:
            readers.setdefault(name, []).append(place)
    return tuple(
        (place, *readers[name])
        for place, node in enumerate(nodes)
        for name in node.writes
        if not node.reason and name in readers and tensors.get(name) in gone
    )
