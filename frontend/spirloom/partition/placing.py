"""On which side each unit is cheapest, its transfers counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from spirloom.partition.costs import Costs
from spirloom.partition.minimum_cut import SINK, SOURCE, UNBOUNDED, Cut
from spirloom.partition.network import Network
from spirloom.partition.plan import Side
from spirloom.partition.units import Units

HOST = -1  # as a place of units: the host itself, before and after the network


@dataclass(slots=True)
class Value:
    """One that may cross: the unit that writes it and those that read it."""

    name: str
    writer: int
    readers: list[int] = field(default_factory=list)


def values_of(network: Network, units: Units) -> list[Value]:
    """Those that are not known and not inside of a unit; inputs and outputs have HOST."""
    unit = {i: at for at, nodes in enumerate(units.nodes) for i in nodes}
    found = {name: Value(name, HOST) for name in network.inputs}
    for i, at in sorted(unit.items()):
        found.update((name, Value(name, at)) for name in network.nodes[i].writes)
    readers = [(unit[i], name) for i in sorted(unit) for name in network.nodes[i].reads]
    for at, name in (*readers, *((HOST, name) for name in network.outputs)):
        if name in found and found[name].writer != at and at not in found[name].readers:
            found[name].readers.append(at)
    return [value for value in found.values() if value.readers]


def sides_of(network: Network, units: Units, values: Sequence[Value], costs: Costs) -> list[Side]:
    """The sides with which all work and transfers take the least time.

    Everything goes to the device if nothing has to stay: then nothing is cut.
    """
    if not any(node.reason for node in network.nodes):
        return [Side.DEVICE] * len(units.nodes)
    cut = Cut()
    vertices: Mapping[int, int] = {
        HOST: SINK, **{at: cut.vertex() for at in range(len(units.nodes))}
    }  # fmt: skip
    for at, places in enumerate(units.nodes):
        nodes = [network.nodes[i] for i in places]
        stays = any(node.reason for node in nodes)
        work = (sum(node.flops for node in nodes), sum(node.nbytes for node in nodes))
        cut.edge(SOURCE, vertices[at], costs.on_host(*work))
        cut.edge(vertices[at], SINK, UNBOUNDED if stays else costs.on_device(*work))
    for value in values:
        cost = costs.transfer(network.sizes.get(value.name, 0))
        _let_cross(cut, vertices[value.writer], [vertices[r] for r in value.readers], cost)
    on_device = cut.with_source()
    return [Side.DEVICE if on_device[vertices[at]] else Side.HOST for at in range(len(units.nodes))]


def _let_cross(cut: Cut, writer: int, readers: Sequence[int], cost: int) -> None:
    """A value is copied once, however many read it on the other side."""
    if writer != SINK:
        down = cut.vertex()
        cut.edge(writer, down, cost)
        for reader in readers:
            cut.edge(down, reader, UNBOUNDED)
    up = cut.vertex()
    cut.edge(up, writer, cost)
    for reader in readers:
        if reader != SINK:
            cut.edge(reader, up, UNBOUNDED)
