"""What Spirloom's partitioner takes of networks beside ExecuTorch's own Vulkan partitioner.

    python -m tests.executorch.partition_table     # rewrites generated/executorch_partition.md

Both are given the same program of the edge dialect, taken apart as to_edge() does; where that
fails, as Spirloom asks for it. Then Spirloom's again as its users have it, by
to_edge_transform_and_lower(), which leaves operators whole that it asks for. Needs what
`./dev test-executorch` installs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import torch
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.exir import to_edge, to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner, PartitionResult
from executorch.exir.backend.utils import get_delegates, get_non_lowered_nodes
from executorch.exir.program._fake_program import get_fake_program
from spirloom.executorch import SpirloomPartitioner
from spirloom.executorch.edge import calls_of

from tests.executorch.own import lowered
from tests.torch.networks import NETWORKS, made

FILE = Path(__file__).resolve().parents[2] / "generated/executorch_partition.md"
HEADER = """# What the partitioners take

Made by `python -m tests.executorch.partition_table`. The networks are those of the tests
(`tests/torch/networks.py`). On the same program of ExecuTorch's edge dialect: how many of its nodes
ExecuTorch's own `VulkanPartitioner` and `spirloom.executorch.SpirloomPartitioner` delegate, and to
how many delegates. (Spirloom is told that masks of attention hold 0 and 1. Attention of gpt2 is
left whole, which `to_edge()` fails to take apart.) The last column is what stays in ExecuTorch as
Spirloom's users lower it, with operators left whole.

| network | nodes | Vulkan: nodes | delegates | Spirloom: nodes | delegates | stays |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Row:
    """Counts of one network."""

    network: str
    nodes: int
    vulkan_nodes: int
    vulkan_delegates: int
    own_nodes: int
    own_delegates: int
    on_host: int

    def __str__(self) -> str:
        return f"| {' | '.join(map(str, astuple(self)))} |"


def exported_network(name: str) -> tuple[Any, torch.nn.Module, dict[str, torch.Tensor]]:
    """The exported program of a network, the module and its arguments."""
    module, inputs = made(name)
    with torch.no_grad():
        return torch.export.export(module, (), inputs, strict=False), module, inputs


def row_of(name: str) -> Row:
    """Partitions a network in each way."""
    exported, _, _ = exported_network(name)
    edge = _edge(exported)
    ranges = NETWORKS[name].ranges
    vulkan = _taken(VulkanPartitioner(), edge)
    own = _taken(SpirloomPartitioner(ranges=ranges), edge)
    graph = lowered(exported, ranges=ranges).exported_program().graph_module.graph
    assert len(get_delegates(graph)) == own[1]
    return Row(name, len(calls_of(edge)), *vulkan, *own, len(get_non_lowered_nodes(graph)))


class _Asking(Partitioner):  # type: ignore[misc]
    """Takes nothing; asks for the operators that Spirloom asks for."""

    def __init__(self) -> None:
        super().__init__()
        self._own = SpirloomPartitioner()

    def ops_to_not_decompose(self, ep: Any) -> Any:
        return self._own.ops_to_not_decompose(ep)

    def partition(self, exported_program: Any) -> PartitionResult:
        return PartitionResult(exported_program, {})


def _edge(exported: Any) -> Any:
    """A program in the edge dialect."""
    try:
        return to_edge(exported).exported_program()
    except ValueError:  # a view that torch traces with other strides than before
        return to_edge_transform_and_lower(exported, partitioner=[_Asking()]).exported_program()


def _taken(partitioner: Any, edge: Any) -> tuple[int, int]:
    """How many nodes a partitioner tags, and with how many tags."""
    tagged = partitioner(get_fake_program(edge)).tagged_exported_program
    tags = [node.meta.get("delegation_tag") for node in calls_of(tagged)]
    return sum(tag is not None for tag in tags), len({tag for tag in tags if tag})


def stored_rows() -> dict[str, str]:
    """The rows of the file, by network."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines if line[:2] == "| "}


def main(names: Sequence[str]) -> None:
    rows = []
    for name in names or NETWORKS:
        rows.append(str(row_of(name)))
        print(rows[-1], flush=True)
    if not names:
        FILE.write_text(HEADER + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
