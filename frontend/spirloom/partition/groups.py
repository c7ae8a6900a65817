"""Calls of recognised patterns, through which no cut may go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from spirloom.ir import Graph, Tensor


@dataclass(frozen=True, slots=True)
class Access:
    """What a call reads and writes, and whether it stays in the host."""

    reads: Iterable[str]
    writes: Iterable[str]
    stays: bool


def pattern_groups(
    calls: Sequence[Access],
    outputs: Iterable[str],
    graph: Graph,
    tensors: Mapping[str, Tensor],
    optimize: Callable[[Graph], None],
) -> tuple[tuple[int, ...], ...]:
    """Who makes a value that the optimised graph lacks, with those who read it, by places.

    `tensors` are the graph's of the values by name. The graph is of no use after that.
    """
    readers: dict[str, list[int]] = {}
    for place, call in enumerate(calls):
        for name in call.reads:
            readers.setdefault(name, []).append(place)
    stay = (name for call in calls if call.stays for name in call.reads)
    needed = dict.fromkeys([*outputs, *stay])
    graph.outputs = list(dict.fromkeys(tensors[n] for n in needed if n in tensors))
    made = {tensor for node in graph.nodes for tensor in node.outputs}
    optimize(graph)
    gone = made - set(graph.tensors())
    return tuple(
        (place, *readers[name])
        for place, call in enumerate(calls)
        for name in call.writes
        if not call.stays and name in readers and tensors.get(name) in gone
    )
