"""Why nodes that the device could compute stay all the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spirloom.partition.network import Network
from spirloom.text import in_bytes, in_flops


def reasons_of(network: Network, on_device: set[int]) -> tuple[str, ...]:
    """For each node its own reason, or what its island would move; "" on the device."""
    reasons = [node.reason for node in network.nodes]
    stay = [
        i
        for i, node in enumerate(network.nodes)
        if i not in on_device and not node.known and not node.reason
    ]
    for island in _islands(network, stay):
        nodes = [network.nodes[i] for i in island]
        reads = {name for node in nodes for name in node.reads}
        writes = {name for node in nodes for name in node.writes}
        outside = [node for i, node in enumerate(network.nodes) if i not in island]
        used = {name for node in outside for name in node.reads} | set(network.outputs)
        made = {name for node in outside if not node.known for name in node.writes}
        moved = ((reads - writes) & (made | set(network.inputs))) | (writes & used)
        size = in_bytes(sum(network.sizes.get(name, 0) for name in moved))
        work = in_flops(sum(node.flops for node in nodes))
        for i in island:
            reasons[i] = f"not worth its transfers: moves {size} for {work}"
    return tuple(reasons)


def _islands(network: Network, places: Iterable[int]) -> Iterator[set[int]]:
    """The sets of nodes that are joined by values."""
    island: dict[int, set[int]] = {}
    writer: dict[str, int] = {}
    for i in places:
        island[i] = {i}
        for name in network.nodes[i].reads:
            if name in writer and island[writer[name]] is not island[i]:
                island[i] |= island[writer[name]]
                for other in island[i]:
                    island[other] = island[i]
        writer.update(dict.fromkeys(network.nodes[i].writes, i))
    seen: set[int] = set()
    for i in island:
        if i not in seen:
            seen |= island[i]
            yield island[i]
