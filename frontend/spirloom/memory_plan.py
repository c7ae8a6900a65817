"""Where tensors computed in one run could share memory: lifetimes and a greedy best fit.

It describes the plan for buffers. The runtime makes its own, which also knows the device's images,
alignment and packed weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from spirloom.ir import Graph, Tensor
from spirloom.ops import OpLibrary

ALIGNMENT = 256


@dataclass(frozen=True, slots=True)
class Block:
    """The memory of one tensor, in use from node `first` to node `last`."""

    tensor: Tensor
    size: int
    first: int
    last: int
    offset: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Sizes in bytes. `naive`: were every intermediate tensor given its own memory."""

    constants: int
    inputs_outputs: int
    naive: int
    peak: int
    views: int
    blocks: tuple[Block, ...]


def plan_memory(graph: Graph, library: OpLibrary) -> MemoryPlan:
    """Places every intermediate tensor; views share their source's memory."""
    roots = _roots(graph, library)
    computed = {t for node in graph.nodes for t in node.outputs}
    outside = set(graph.given()) | {roots.get(t, t) for t in graph.results()}
    lifetimes: dict[Tensor, tuple[int, int]] = {}
    for index, node in enumerate(graph.nodes):
        for tensor in (*node.inputs(), *node.outputs):
            root = roots.get(tensor, tensor)
            if root in computed and root not in outside:
                first, _ = lifetimes.get(root, (index, index))
                lifetimes[root] = (first, index)
    blocks = _place(lifetimes)
    constants = {id(t.data): t.size for t in graph.tensors() if t.data is not None}
    return MemoryPlan(
        constants=sum(constants.values()),
        inputs_outputs=sum(t.size for t in {*graph.inputs, *graph.outputs}),
        naive=sum(b.size for b in blocks),
        peak=max((b.offset + b.size for b in blocks), default=0),
        views=len(roots),
        blocks=tuple(blocks),
    )


def _roots(graph: Graph, library: OpLibrary) -> dict[Tensor, Tensor]:
    """For each view, the tensor whose memory it shares."""
    roots: dict[Tensor, Tensor] = {}
    for node in graph.nodes:
        source = library.view_source(node)
        if source is not None:
            roots[node.outputs[0]] = roots.get(source, source)
    return roots


def _place(lifetimes: dict[Tensor, tuple[int, int]]) -> list[Block]:
    """Largest first, each into the smallest gap among the tensors alive at the same time."""
    blocks: list[Block] = []
    for tensor, (first, last) in sorted(lifetimes.items(), key=lambda item: -item[0].size):
        size = -(-tensor.size // ALIGNMENT) * ALIGNMENT
        alive = [b for b in blocks if b.first <= last and first <= b.last]
        blocks.append(Block(tensor, size, first, last, _best_offset(alive, size)))
    return blocks


def _best_offset(alive: list[Block], size: int) -> int:
    best: tuple[int, int] | None = None
    end = 0
    for block in sorted(alive, key=lambda b: b.offset):
        gap = block.offset - end
        if gap >= size and (best is None or gap < best[0]):
            best = (gap, end)
        end = max(end, block.offset + block.size)
    return end if best is None else best[1]
