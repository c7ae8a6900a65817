"""A network as the partitioner sees it: calls that read and write values by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Node:
    """A call. `reason` is why the device cannot compute it; "" if it can.

    `flops` and `nbytes` are the work that it does, 0 of what only looks at memory in another way.
    The results of a `known` one are the same in every run: whoever reads them computes them again,
    so they never cross; it may read only what is known as well, or constant.
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
    """Calls in an order in which they can run.

    `inputs` come from the host and `outputs` go there; values that nothing writes and that are no
    inputs are constants, which both sides have. `sizes` are in bytes. `groups` are the places of
    nodes that belong together, such as those of one recognised pattern: no cut goes through them.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    groups: tuple[tuple[int, ...], ...] = ()
