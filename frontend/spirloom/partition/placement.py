"""Assigns units to device or host at minimum cost: work, transfers, and a minimum cut."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from spirloom.ir import Node
from spirloom.op_library import OpLibrary
from spirloom.partition.network import Network, Placement, Units

# Matrix products: each element of the result accumulates one product per column of the first
# operand.
_PRODUCTS = frozenset({"aten.linear", "aten.matmul", "aten.mm", "aten.bmm", "aten.addmm",
                       "aten.baddbmm"})  # fmt: skip
_ATTENTION = "aten.scaled_dot_product_attention"


def work_of(nodes: Sequence[Node], library: OpLibrary) -> tuple[float, float]:
    """Arithmetic operations and bytes accessed. Views have neither."""
    flops = nbytes = 0.0
    for node in nodes:
        if library.has(node.op) and library.is_view(node.op):
            continue
        flops += _flops(node)
        nbytes += sum(tensor.size for tensor in (*node.inputs(), *node.outputs))
    return flops, nbytes


def _flops(node: Node) -> float:
    count = float(sum(prod(tensor.shape) for tensor in node.outputs))
    tensors = list(node.inputs())
    if node.op in _PRODUCTS and tensors:
        widest = max(tensors[:3], key=lambda t: len(t.shape))
        return 2 * count * (widest.shape[-1] if widest.shape else 1)
    if node.op.startswith("aten.convolution") and len(tensors) > 1:
        weight = tensors[1].shape
        return 2 * count * prod(weight[1:])
    if node.op == _ATTENTION and len(tensors) > 1 and len(tensors[1].shape) > 1:
        return 4 * count * tensors[1].shape[-2]
    return count


@dataclass(frozen=True, slots=True)
class Costs:
    """Throughput in units per second, of a modest GPU on a bus and of its CPU.

    Plans depend on their ratios. They are the same on all machines.
    """

    host_flops: float = 1e11
    host_bytes: float = 2e10
    device_flops: float = 2e12
    device_bytes: float = 2e11
    transfer_bytes: float = 1e10

    def on_host(self, flops: float, nbytes: float) -> int:
        """Picoseconds of work on the host."""
        return _picoseconds(flops / self.host_flops + nbytes / self.host_bytes)

    def on_device(self, flops: float, nbytes: float) -> int:
        """Picoseconds of work on the device."""
        return _picoseconds(flops / self.device_flops + nbytes / self.device_bytes)

    def transfer(self, nbytes: float) -> int:
        """Picoseconds of a copy between device and host. Every transfer has a minimum cost."""
        return _picoseconds(nbytes / self.transfer_bytes) + 1


def _picoseconds(seconds: float) -> int:
    return round(seconds * 1e12)


SOURCE, SINK = 0, 1
UNBOUNDED = 1 << 100


class Cut:
    """A graph of vertices 0 (source), 1 (sink) and those that `vertex` creates."""

    def __init__(self) -> None:
        # of each vertex, as indices into the following lists
        self._edges: list[list[int]] = [[], []]
        self._to: list[int] = []
        self._left: list[int] = []  # remaining capacity; edge i ^ 1 is the reverse edge

    def vertex(self) -> int:
        """Creates a vertex."""
        self._edges.append([])
        return len(self._edges) - 1

    def edge(self, first: int, then: int, cost: int) -> None:
        """Adds a cost for `first` on the source side and `then` on the sink side."""
        if cost > 0:
            self._edges[first].append(len(self._to))
            self._edges[then].append(len(self._to) + 1)
            self._to += [then, first]
            self._left += [cost, 0]

    def with_source(self) -> list[bool]:
        """For each vertex whether it is on the source side. Among minimum cuts, the one with most
        such vertices.
        """
        while True:
            level = self._levels(SOURCE, backwards=False)
            if level[SINK] < 0:
                break
            self._augment(level)
        return [distance < 0 for distance in self._levels(SINK, backwards=True)]

    def _levels(self, start: int, backwards: bool) -> list[int]:
        """Distances along edges with remaining capacity. -1 for unreachable vertices."""
        level = [-1] * len(self._edges)
        level[start] = 0
        queue = deque([start])
        while queue:
            vertex = queue.popleft()
            for edge in self._edges[vertex]:
                to = self._to[edge]
                if self._left[edge ^ 1 if backwards else edge] > 0 and level[to] < 0:
                    level[to] = level[vertex] + 1
                    queue.append(to)
        return level

    def _augment(self, level: list[int]) -> None:
        """Saturates all shortest paths from source to sink."""
        following = [0] * len(self._edges)
        path: list[int] = []
        vertex = SOURCE
        while True:
            if vertex == SINK:
                amount = min(self._left[edge] for edge in path)
                for edge in path:
                    self._left[edge] -= amount
                    self._left[edge ^ 1] += amount
                path, vertex = [], SOURCE
            edges = self._edges[vertex]
            while following[vertex] < len(edges):
                edge = edges[following[vertex]]
                if self._left[edge] > 0 and level[self._to[edge]] == level[vertex] + 1:
                    break
                following[vertex] += 1
            if following[vertex] < len(edges):
                path.append(edges[following[vertex]])
                vertex = self._to[path[-1]]
            elif not path:
                return
            else:
                vertex = self._to[path.pop() ^ 1]
                following[vertex] += 1


HOST = -1  # unit index of the host itself, before and after the network


@dataclass(slots=True)
class Value:
    """A value that may be transferred: the unit that writes it and the units that read it."""

    name: str
    writer: int
    readers: list[int] = field(default_factory=list)


def values_of(network: Network, units: Units) -> list[Value]:
    """Values that are not known and not internal to a unit. Inputs and outputs have HOST."""
    unit = {i: at for at, nodes in enumerate(units.nodes) for i in nodes}
    found = {name: Value(name, HOST) for name in network.inputs}
    for i, at in sorted(unit.items()):
        found.update((name, Value(name, at)) for name in network.nodes[i].writes)
    readers = [(unit[i], name) for i in sorted(unit) for name in network.nodes[i].reads]
    for at, name in (*readers, *((HOST, name) for name in network.outputs)):
        if name in found and found[name].writer != at and at not in found[name].readers:
            found[name].readers.append(at)
    return [value for value in found.values() if value.readers]


def placements_of(
    network: Network, units: Units, values: Sequence[Value], costs: Costs
) -> list[Placement]:
    """The placements with the minimum total time of work and transfers.

    If no unit requires the host, everything runs on the device.
    """
    if not any(node.reason for node in network.nodes):
        return [Placement.DEVICE] * len(units.nodes)
    cut = Cut()
    vertices: Mapping[int, int] = {
        HOST: SINK, **{at: cut.vertex() for at in range(len(units.nodes))}
    }  # fmt: skip
    for at, indices in enumerate(units.nodes):
        nodes = [network.nodes[i] for i in indices]
        stays = any(node.reason for node in nodes)
        work = (sum(node.flops for node in nodes), sum(node.nbytes for node in nodes))
        cut.edge(SOURCE, vertices[at], costs.on_host(*work))
        cut.edge(vertices[at], SINK, UNBOUNDED if stays else costs.on_device(*work))
    for value in values:
        cost = costs.transfer(network.sizes.get(value.name, 0))
        _let_cross(cut, vertices[value.writer], [vertices[r] for r in value.readers], cost)
    on_device = cut.with_source()
    return [
        Placement.DEVICE if on_device[vertices[at]] else Placement.HOST
        for at in range(len(units.nodes))
    ]


def _let_cross(cut: Cut, writer: int, readers: Sequence[int], cost: int) -> None:
    """A value is transferred once, however many units of the other placement read it."""
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
