"""A network as the partitioner reads it, its fused groups and units, and the resulting plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heappush

from spirloom.ir import Graph, Tensor


class Placement(StrEnum):
    """Where a node runs."""

    DEVICE = "device"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Segment:
    """Nodes by their indices in the network, in order, including the known nodes that they need.

    `inputs` are values from inputs and previous segments. `outputs` are values that other segments
    read or that are outputs of the network.
    """

    placement: Placement
    nodes: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Segments in execution order, and the reason of each node that runs on the host ("": it runs
    on the device).
    """

    segments: tuple[Segment, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A call. `reason` is why the device does not support it ("": it does).

    `flops` and `nbytes` are its work (0 for views). The results of a `known` node are equal in
    every run: each reader recomputes them, so they are never transferred. A known node may read
    only known values and constants.
    """

    name: str
    op: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    module: str = ""
    reason: str = ""
    flops: float = 0
    nbytes: float = 0
    known: bool = False


@dataclass(frozen=True, slots=True)
class Network:
    """Calls in an executable order.

    `inputs` come from the host and `outputs` return to it. Values that no call writes and that are
    no inputs are constants, which both device and host have. `sizes` are in bytes. `groups` are
    indices of nodes that must stay together, such as those of one fused pattern.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    groups: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Access:
    """The values that a call reads and writes, and whether it must run on the host."""

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
    """Groups of call indices: for each value that the optimized graph no longer has, its producer
    and readers.

    `tensors` are the graph's tensors by value name. The graph is consumed.
    """
    readers: dict[str, list[int]] = {}
    for position, call in enumerate(calls):
        for name in call.reads:
            readers.setdefault(name, []).append(position)
    host_only = (name for call in calls if call.stays for name in call.reads)
    needed = dict.fromkeys([*outputs, *host_only])
    graph.outputs = list(dict.fromkeys(tensors[n] for n in needed if n in tensors))
    made = {tensor for node in graph.nodes for tensor in node.outputs}
    optimize(graph)
    removed = made - set(graph.tensors())
    return tuple(
        (position, *readers[name])
        for position, call in enumerate(calls)
        for name in call.writes
        if not call.stays and name in readers and tensors.get(name) in removed
    )


@dataclass(frozen=True, slots=True)
class Units:
    """Sets of nodes in an executable order. `before` lists the units that each unit depends on.

    Known nodes are in no unit.
    """

    nodes: tuple[tuple[int, ...], ...]
    before: tuple[tuple[int, ...], ...]


def units_of(network: Network) -> Units:
    """One unit for each node that is not known, or for the nodes of a group that the device
    supports.

    A group that would depend on itself through other nodes is split.
    """
    leader = _leaders(network)
    edges = list(_edges(network))
    while True:
        order, waiting = _sorted(leader, edges)
        if not waiting:
            break
        # One group at a time: groups that only follow a cycle are not split.
        tangled = min(_cycle(leader, edges, waiting))
        leader = {i: i if head == tangled else head for i, head in leader.items()}
    position = {head: at for at, head in enumerate(order)}
    members: list[list[int]] = [[] for _ in order]
    for i, head in leader.items():
        members[position[head]].append(i)
    before: list[set[int]] = [set() for _ in order]
    for first, then in edges:
        if leader[first] != leader[then]:
            before[position[leader[then]]].add(position[leader[first]])
    return Units(tuple(map(tuple, members)), tuple(tuple(sorted(b)) for b in before))


def _leaders(network: Network) -> dict[int, int]:
    """The first node of the unit of each node. Groups that share a node are merged."""
    nodes = network.nodes
    leader = {i: i for i, node in enumerate(nodes) if not node.known}
    members = {i: [i] for i in leader}
    for group in network.groups:
        heads = sorted({leader[i] for i in group if i in leader and not nodes[i].reason})
        for head in heads[1:]:
            for i in members.pop(head):
                leader[i] = heads[0]
                members[heads[0]].append(i)
    return leader


def _edges(network: Network) -> Iterator[tuple[int, int]]:
    """Pairs of nodes in which the second reads a value of the first."""
    writer: dict[str, int] = {}
    for i, node in enumerate(network.nodes):
        if not node.known:
            yield from ((writer[name], i) for name in node.reads if name in writer)
            writer.update(dict.fromkeys(node.writes, i))


def _sorted(
    leader: dict[int, int], edges: Sequence[tuple[int, int]]
) -> tuple[list[int], dict[int, int]]:
    """The leaders in an executable order, and those on or after cycles, with their number of open
    dependencies.

    Among executable ones, the network's order is kept.
    """
    after: dict[int, set[int]] = {head: set() for head in leader.values()}
    for first, then in edges:
        if leader[first] != leader[then]:
            after[leader[first]].add(leader[then])
    missing = dict.fromkeys(after, 0)
    for heads in after.values():
        for head in heads:
            missing[head] += 1
    ready = [head for head, count in missing.items() if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:
        head = heappop(ready)
        order.append(head)
        del missing[head]
        for then in after[head]:
            missing[then] -= 1
            if missing[then] == 0:
                heappush(ready, then)
    return order, missing


def _cycle(
    leader: dict[int, int], edges: Sequence[tuple[int, int]], waiting: dict[int, int]
) -> set[int]:
    """The groups on a cycle of units that depend on each other."""
    before: dict[int, int] = {}
    for first, then in edges:
        a, b = leader[first], leader[then]
        if a != b and a in waiting and b in waiting:
            before.setdefault(b, a)
    head = min(before)
    seen: list[int] = []
    while head not in seen:
        seen.append(head)
        head = before[head]
    sizes = list(leader.values())
    return {h for h in seen[seen.index(head) :] if sizes.count(h) > 1}
