"""Parts a network between the device and the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spirloom.partition.costs import Costs
from spirloom.partition.network import Network
from spirloom.partition.placing import sides_of, values_of
from spirloom.partition.plan import Plan, Segment, Side
from spirloom.partition.reasons import reasons_of
from spirloom.partition.stages import stages_of
from spirloom.partition.units import units_of


def partition(network: Network, costs: Costs | None = None) -> Plan:
    """Segments that can run one after the other: nothing depends on itself through another side.

    Nodes without a reason to stay go to the device, unless copying what they read and write takes
    longer than their work does in the host. Equal networks give equal plans.
    """
    units = units_of(network)
    values = values_of(network, units)
    sides = sides_of(network, units, values, costs or Costs())
    stages = stages_of(units, sides, values, network.sizes)
    members: dict[int, list[int]] = {}
    for at, stage in enumerate(stages):
        members.setdefault(stage, []).extend(units.nodes[at])
    found = [(sides[stages.index(stage)], sorted(members[stage])) for stage in sorted(members)]
    on_device = {i for side, nodes in found for i in nodes if side is Side.DEVICE}
    return Plan(_segments(network, found), reasons_of(network, on_device))


def _segments(network: Network, found: Sequence[tuple[Side, list[int]]]) -> tuple[Segment, ...]:
    """With the known nodes that each needs; the last one gives those that are outputs."""
    known = {name: i for i, node in enumerate(network.nodes) if node.known for name in node.writes}
    asked = [name for name in network.outputs if name in known]
    if asked and not found:
        found = [(Side.HOST, [])]
    whole = [_with_known(network, nodes, known, []) for _, nodes in found[:-1]]
    whole += [_with_known(network, nodes, known, asked) for _, nodes in found[-1:]]
    written = {name for node in network.nodes if not node.known for name in node.writes}
    crossing = written | set(network.inputs)
    takes = [_read(network, nodes, crossing) for nodes in whole]
    segments = []
    for place, (side, _) in enumerate(found):
        last = place == len(found) - 1
        later = set(network.outputs).union(*takes[place + 1 :])
        own = [name for i in whole[place] for name in network.nodes[i].writes]
        gives = [name for name in own if name in later and (last or name in crossing)]
        segments.append(Segment(side, whole[place], tuple(takes[place]), tuple(gives)))
    return tuple(segments)


def _with_known(
    network: Network, nodes: Sequence[int], known: Mapping[str, int], asked: Sequence[str]
) -> tuple[int, ...]:
    found = set(nodes)
    names = [*asked, *(name for i in nodes for name in network.nodes[i].reads)]
    while names:
        i = known.get(names.pop())
        if i is not None and i not in found:
            found.add(i)
            names += network.nodes[i].reads
    return tuple(sorted(found))


def _read(network: Network, nodes: Sequence[int], crossing: set[str]) -> list[str]:
    """What nodes read of others, in order, each once."""
    own = {name for i in nodes for name in network.nodes[i].writes}
    names = [name for i in nodes for name in network.nodes[i].reads]
    return [name for name in dict.fromkeys(names) if name in crossing and name not in own]
