"""What is placed as a whole: nodes, and groups of them as far as order allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from spirloom.partition.network import Network


@dataclass(frozen=True, slots=True)
class Units:
    """Sets of nodes in an order in which they can run; `before` has the units that each waits for.

    Known nodes are in none.
    """

    nodes: tuple[tuple[int, ...], ...]
    before: tuple[tuple[int, ...], ...]


def units_of(network: Network) -> Units:
    """One for each node that is not known, or for the nodes of a group that the device can compute.

    A group that would wait for itself through other nodes is taken apart.
    """
    leader = _leaders(network)
    edges = list(_edges(network))
    while True:
        order, waiting = _sorted(leader, edges)
        if not waiting:
            break
        # One at a time: what only comes after a cycle stays whole.
        tangled = min(_cycle(leader, edges, waiting))
        leader = {i: i if head == tangled else head for i, head in leader.items()}
    place = {head: at for at, head in enumerate(order)}
    members: list[list[int]] = [[] for _ in order]
    for i, head in leader.items():
        members[place[head]].append(i)
    before: list[set[int]] = [set() for _ in order]
    for first, then in edges:
        if leader[first] != leader[then]:
            before[place[leader[then]]].add(place[leader[first]])
    return Units(tuple(map(tuple, members)), tuple(tuple(sorted(b)) for b in before))


def _leaders(network: Network) -> dict[int, int]:
    """For each node the first one of its unit; groups that share a node are one."""
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
    """Pairs of nodes of which the second reads what the first writes."""
    writer: dict[str, int] = {}
    for i, node in enumerate(network.nodes):
        if not node.known:
            yield from ((writer[name], i) for name in node.reads if name in writer)
            writer.update(dict.fromkeys(node.writes, i))


def _sorted(
    leader: dict[int, int], edges: Sequence[tuple[int, int]]
) -> tuple[list[int], dict[int, int]]:
    """The leaders in an order in which they can run, and those that cannot, with what is missing.

    Of those that can run, the first one in the network's order comes first.
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
    """The groups on some cycle of units that wait for each other."""
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
