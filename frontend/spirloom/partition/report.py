"""The report of a partition, as JSON and as a text table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from spirloom.partition.network import Network, Placement, Plan
from spirloom.terminal import in_bytes, shown


def to_text(report: Report, where: str) -> str:
    """Segments, counts by operator, each node on the host with its reason, and a summary."""
    lines = [*_segments(report), "", *_operator_rows(report), ""]
    if report.on_host:
        lines += ["on the host", *(f"  {_host_line(node)}" for node in report.on_host), ""]
    return "\n".join([*lines, summary(report, where)])


def summary(report: Report, where: str) -> str:
    """A sentence with the share of nodes on the device."""
    placements = [node.placement for node in report.nodes]
    known, placed = placements.count(None), len(placements) - placements.count(None)
    on_device = placements.count(Placement.DEVICE)
    everything = "the only node runs" if placed == 1 else f"all {placed} nodes run"
    what = everything if on_device == placed else f"{on_device} of {placed} nodes run"
    segments = sum(s.placement is Placement.DEVICE for s in report.segments)
    count = "" if segments == 1 or not on_device else f", in {segments} segments"
    computed = f"; {known} more are computed at import" if known else ""
    return f"{shown(where)}: {what} on the device{count}{computed}."


def _segments(report: Report) -> Iterator[str]:
    rows = [("segment", "where", "nodes", "in", "out", "operators")]
    for index, part in enumerate(report.segments):
        operators = ", ".join(
            op if count == 1 else f"{op} {count}" for op, count in part.operators.items()
        )
        sizes = in_bytes(part.bytes_in), in_bytes(part.bytes_out)
        rows.append((str(index), part.placement.value, str(part.nodes), *sizes, operators))
    return _aligned(rows, right=(2, 3, 4))


def _operator_rows(report: Report) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("operator", "device", "host", "at import")]
    for op, count in report.operators.items():
        rows.append((op, *(str(n or "") for n in (count.device, count.host, count.known))))
    return _aligned(rows, right=(1, 2, 3))


def _host_line(node: NodeReport) -> str:
    module = f", in {node.module}" if node.module else ""
    return shown(f"{node.op}, {node.name}{module}: {node.reason}")


def _aligned(rows: Sequence[tuple[str, ...]], right: Sequence[int]) -> Iterator[str]:
    cells = [[shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(padded).rstrip()


@dataclass(frozen=True, slots=True)
class NodeReport:
    """A node and its placement. Known nodes are computed at import and have no placement.

    `segment` counts from 0. `reason` is why the node runs on the host.
    """

    name: str
    op: str
    module: str
    placement: Placement | None
    segment: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """A segment: its number of nodes by operator, and its transfers."""

    placement: Placement
    nodes: int
    operators: Mapping[str, int]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    bytes_in: int
    bytes_out: int


@dataclass(frozen=True, slots=True)
class Count:
    """The number of nodes of an operator by placement, and the reasons of those on the host."""

    device: int
    host: int
    known: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Nodes in order, and segments in execution order. Prints as a table."""

    nodes: tuple[NodeReport, ...]
    segments: tuple[SegmentReport, ...]

    def __str__(self) -> str:
        return to_text(self, "The model")

    @property
    def is_full(self) -> bool:
        """Whether everything runs on the device, in one segment."""
        return not self.on_host and len(self.segments) <= 1

    @property
    def on_host(self) -> tuple[NodeReport, ...]:
        """The nodes that run on the host."""
        return tuple(node for node in self.nodes if node.placement is Placement.HOST)

    @property
    def operators(self) -> dict[str, Count]:
        """Counts by operator, sorted by name."""
        found: dict[str, list[NodeReport]] = {}
        for node in self.nodes:
            found.setdefault(node.op, []).append(node)
        return {op: _count(found[op]) for op in sorted(found)}

    @property
    def reasons(self) -> dict[str, list[NodeReport]]:
        """The nodes on the host by reason, the most frequent reason first."""
        found: dict[str, list[NodeReport]] = {}
        for node in self.on_host:
            found.setdefault(node.reason, []).append(node)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    @property
    def modules(self) -> dict[str, list[NodeReport]]:
        """The nodes on the host by module path, in order."""
        found: dict[str, list[NodeReport]] = {}
        for node in self.on_host:
            found.setdefault(node.module, []).append(node)
        return found

    def to_json(self) -> dict[str, Any]:
        """The report as plain values, for the json module."""
        return {
            "full": self.is_full,
            "segments": [asdict(part) for part in self.segments],
            "operators": {op: asdict(count) for op, count in self.operators.items()},
            "nodes": [asdict(node) for node in self.nodes],
        }


def report(network: Network, plan: Plan) -> Report:
    """The report of a plan."""
    segment: dict[int, int] = {}
    for index, part in enumerate(plan.segments):
        segment.update((i, index) for i in part.nodes if not network.nodes[i].known)
    nodes = []
    for i, (node, reason) in enumerate(zip(network.nodes, plan.reasons, strict=True)):
        at = segment.get(i)
        placement = None if at is None else plan.segments[at].placement
        nodes.append(NodeReport(node.name, node.op, node.module, placement, at, reason))
    parts = []
    for at, found in enumerate(plan.segments):
        own = [node for node in nodes if node.segment == at]
        moved = [sum(network.sizes.get(name, 0) for name in names)
                 for names in (found.inputs, found.outputs)]  # fmt: skip
        parts.append(
            SegmentReport(
                found.placement, len(own), _operators(own), found.inputs, found.outputs, *moved
            )
        )
    return Report(tuple(nodes), tuple(parts))


def _operators(nodes: Sequence[NodeReport]) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in nodes:
        found[node.op] = found.get(node.op, 0) + 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _count(nodes: Sequence[NodeReport]) -> Count:
    placements = [node.placement for node in nodes]
    reasons = dict.fromkeys(node.reason for node in nodes if node.reason)
    return Count(
        placements.count(Placement.DEVICE),
        placements.count(Placement.HOST),
        placements.count(None),
        tuple(reasons),
    )
