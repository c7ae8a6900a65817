"""Partitions a network into stages that alternate between the device and the host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from spirloom.partition.network import Network, Placement, Plan, Segment, Units, units_of
from spirloom.partition.placement import HOST, Costs, Value, placements_of, values_of
from spirloom.terminal import in_bytes, in_flops


def reasons_of(network: Network, on_device: set[int]) -> tuple[str, ...]:
    """The reason of each node on the host: its own, or the transfers that its island would need. ""
    on the device.
    """
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


def _islands(network: Network, indices: Iterable[int]) -> Iterator[set[int]]:
    """The sets of nodes that are connected by values."""
    island: dict[int, set[int]] = {}
    writer: dict[str, int] = {}
    for i in indices:
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


_SWEEPS = 4


def stages_of(
    units: Units, placements: Sequence[Placement], values: Sequence[Value], sizes: Mapping[str, int]
) -> list[int]:
    """The stage of each unit. Stages alternate between device and host.

    Their number is the minimum that the order allows.
    """
    attempts = [_earliest(units, placements, first) for first in (Placement.DEVICE, Placement.HOST)]
    stages = min(attempts, key=lambda stages: max(stages, default=0))
    _Sweeper(units, placements, values, sizes, stages).run()
    return _without_gaps(stages, placements)


def _earliest(units: Units, placements: Sequence[Placement], first: Placement) -> list[int]:
    stages: list[int] = []
    for at, before in enumerate(units.before):
        own = 0 if placements[at] is first else 1
        stages.append(
            max([own, *(stages[b] + (placements[b] is not placements[at]) for b in before)])
        )
    return stages


def _without_gaps(stages: Sequence[int], placements: Sequence[Placement]) -> list[int]:
    """Renumbers the stages. Neighbors of one placement with no unit between them are merged."""
    placement = dict(zip(stages, placements, strict=True))
    number: dict[int, int] = {}
    for before, stage in zip([None, *sorted(placement)], sorted(placement), strict=False):
        last = -1 if before is None else number[before]
        number[stage] = last + (before is None or placement[before] is not placement[stage])
    return [number[stage] for stage in stages]


class _Sweeper:
    """Moves units between stages of their placement while that reduces transfers."""

    def __init__(
        self,
        units: Units,
        placements: Sequence[Placement],
        values: Sequence[Value],
        sizes: Mapping[str, int],
        stages: list[int],
    ) -> None:
        self._units = units
        self._placements = placements
        self._sizes = sizes
        self._stages = stages
        self._last = max(stages, default=0)
        self._after: list[list[int]] = [[] for _ in units.nodes]
        for at, before in enumerate(units.before):
            for b in before:
                self._after[b].append(at)
        self._touching: list[list[Value]] = [[] for _ in units.nodes]
        for value in values:
            for at in {value.writer, *value.readers} - {HOST}:
                self._touching[at].append(value)

    def run(self) -> None:
        order = range(len(self._stages))
        for _ in range(_SWEEPS):
            before = list(self._stages)
            for at in reversed(order):
                self._move(at, later=True)
            for at in order:
                self._move(at, later=False)
            if self._stages == before:
                break

    def _move(self, at: int, later: bool) -> None:
        """Moves a unit to the best stage. Ties prefer the last stage when moving later, otherwise
        its own.
        """
        stages, own = self._stages, self._placements[at]
        low = max((stages[b] + (self._placements[b] is not own) for b in self._units.before[at]),
                  default=stages[at] % 2)  # fmt: skip
        high = min((stages[a] - (self._placements[a] is not own) for a in self._after[at]),
                   default=self._last - (self._last - stages[at]) % 2)  # fmt: skip
        current = stages[at]
        costs = {stage: self._cost(at, stage) for stage in range(low, high + 1, 2)}
        minimum = min(costs.values())
        best = [stage for stage, cost in costs.items() if cost == minimum]
        stages[at] = current
        if later or current not in best:
            stages[at] = best[-1] if later else best[0]

    def _cost(self, at: int, stage: int) -> int:
        """Bytes transferred for the values that the unit writes or reads."""
        self._stages[at] = stage
        return sum(self._copied(value) for value in self._touching[at])

    def _copied(self, value: Value) -> int:
        """One download if another unit reads it, and one upload for each device segment that
        does.
        """
        at = [HOST if r == HOST else self._stages[r] for r in value.readers]
        written = HOST if value.writer == HOST else self._stages[value.writer]
        on_device = value.writer != HOST and self._placements[value.writer] is Placement.DEVICE
        others = {stage for stage in at if stage != written}
        up = {
            stage
            for stage, reader in zip(at, value.readers, strict=True)
            if stage in others and reader != HOST and self._placements[reader] is Placement.DEVICE
        }
        times = len(up) + (1 if on_device and others else 0)
        return times * max(self._sizes.get(value.name, 0), 1)


def partition(network: Network, costs: Costs | None = None) -> Plan:
    """Partitions a network into segments that can run one after the other.

    Nodes run on the device unless they have a reason not to, or transferring their inputs and
    outputs takes longer than computing them on the host. Equal networks have equal plans.
    """
    units = units_of(network)
    values = values_of(network, units)
    placements = placements_of(network, units, values, costs or Costs())
    stages = stages_of(units, placements, values, network.sizes)
    members: dict[int, list[int]] = {}
    for at, stage in enumerate(stages):
        members.setdefault(stage, []).extend(units.nodes[at])
    found = [(placements[stages.index(stage)], sorted(members[stage])) for stage in sorted(members)]
    on_device = {i for placement, nodes in found for i in nodes if placement is Placement.DEVICE}
    return Plan(_segments(network, found), reasons_of(network, on_device))


def _segments(
    network: Network, found: Sequence[tuple[Placement, list[int]]]
) -> tuple[Segment, ...]:
    """Segments with the known nodes that they need. The last one provides the outputs."""
    known = {name: i for i, node in enumerate(network.nodes) if node.known for name in node.writes}
    asked = [name for name in network.outputs if name in known]
    if asked and not found:
        found = [(Placement.HOST, [])]
    whole = [_with_known(network, nodes, known, []) for _, nodes in found[:-1]]
    whole += [_with_known(network, nodes, known, asked) for _, nodes in found[-1:]]
    written = {name for node in network.nodes if not node.known for name in node.writes}
    crossing = written | set(network.inputs)
    inputs = [_read(network, nodes, crossing) for nodes in whole]
    segments = []
    for position, (placement, _) in enumerate(found):
        last = position == len(found) - 1
        later = set(network.outputs).union(*inputs[position + 1 :])
        own = [name for i in whole[position] for name in network.nodes[i].writes]
        outputs = [name for name in own if name in later and (last or name in crossing)]
        segments.append(
            Segment(placement, whole[position], tuple(inputs[position]), tuple(outputs))
        )
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
    """The values that nodes read from others, in order, each once."""
    own = {name for i in nodes for name in network.nodes[i].writes}
    names = [name for i in nodes for name in network.nodes[i].reads]
    return [name for name in dict.fromkeys(names) if name in crossing and name not in own]
