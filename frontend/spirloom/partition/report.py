"""What goes where, for people and programs to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from spirloom.partition.network import Network
from spirloom.partition.plan import Plan, Side
from spirloom.partition.table import to_text


@dataclass(frozen=True, slots=True)
class Placed:
    """A node and its side; `known` ones are computed before any run, so they are on neither.

    `segment` counts from 0. `reason` says why it stays in the host.
    """

    name: str
    op: str
    module: str
    side: Side | None
    segment: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Part:
    """A segment: how many nodes it has by operator, and what is copied to and from it."""

    side: Side
    nodes: int
    operators: Mapping[str, int]
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    bytes_in: int
    bytes_out: int


@dataclass(frozen=True, slots=True)
class Count:
    """How many nodes an operator has on each side, and the reasons of those that stay."""

    device: int
    host: int
    known: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Nodes in order, segments in the order of their run. Prints as a table."""

    nodes: tuple[Placed, ...]
    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return to_text(self, "The model")

    @property
    def is_full(self) -> bool:
        """Whether everything goes to the device, in one piece."""
        return not self.staying and len(self.parts) <= 1

    @property
    def staying(self) -> tuple[Placed, ...]:
        """The nodes that stay in the host."""
        return tuple(node for node in self.nodes if node.side is Side.HOST)

    @property
    def operators(self) -> dict[str, Count]:
        """By operator, sorted by name."""
        found: dict[str, list[Placed]] = {}
        for node in self.nodes:
            found.setdefault(node.op, []).append(node)
        return {op: _count(found[op]) for op in sorted(found)}

    @property
    def reasons(self) -> dict[str, list[Placed]]:
        """The nodes that stay, by reason, the most frequent first."""
        found: dict[str, list[Placed]] = {}
        for node in self.staying:
            found.setdefault(node.reason, []).append(node)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    @property
    def modules(self) -> dict[str, list[Placed]]:
        """The nodes that stay, by the path of their module, in order."""
        found: dict[str, list[Placed]] = {}
        for node in self.staying:
            found.setdefault(node.module, []).append(node)
        return found

    def to_json(self) -> dict[str, Any]:
        """As plain values, for the json module."""
        return {
            "full": self.is_full,
            "segments": [asdict(part) for part in self.parts],
            "operators": {op: asdict(count) for op, count in self.operators.items()},
            "nodes": [asdict(node) for node in self.nodes],
        }


def report(network: Network, plan: Plan) -> Report:
    """What a plan makes of a network."""
    segment: dict[int, int] = {}
    for place, part in enumerate(plan.segments):
        segment.update((i, place) for i in part.nodes if not network.nodes[i].known)
    nodes = []
    for i, (node, reason) in enumerate(zip(network.nodes, plan.reasons, strict=True)):
        at = segment.get(i)
        side = None if at is None else plan.segments[at].side
        nodes.append(Placed(node.name, node.op, node.module, side, at, reason))
    parts = []
    for at, found in enumerate(plan.segments):
        own = [node for node in nodes if node.segment == at]
        moved = [sum(network.sizes.get(name, 0) for name in names)
                 for names in (found.takes, found.gives)]  # fmt: skip
        parts.append(Part(found.side, len(own), _operators(own), found.takes, found.gives, *moved))
    return Report(tuple(nodes), tuple(parts))


def _operators(nodes: Sequence[Placed]) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in nodes:
        found[node.op] = found.get(node.op, 0) + 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _count(nodes: Sequence[Placed]) -> Count:
    sides = [node.side for node in nodes]
    reasons = dict.fromkeys(node.reason for node in nodes if node.reason)
    return Count(
        sides.count(Side.DEVICE), sides.count(Side.HOST), sides.count(None), tuple(reasons)
    )
