"""Generates the programs for tests without ExecuTorch and for fuzzing of their import.

python -m tests.executorch.make_programs [NAME…]

NAME.npz contains the inputs and PyTorch's results; for networks with mutable buffers, the output of
each of several runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import (
    serialize_from_bundled_program_to_flatbuffer,
)
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from spirloom.executorch import SpirloomPartitioner
from torch import Tensor, nn

CORPUS = Path(__file__).resolve().parents[1] / "fuzz/corpus/pte_import"


class Islands(nn.Module):  # type: ignore[misc]
    """Two delegates with a kernel of ExecuTorch between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.last(torch.cumsum(torch.relu(self.first(x)), 1)), -1)


class Convolutions(nn.Module):  # type: ignore[misc]
    """Operators that ExecuTorch fuses, folds and splits."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.norm = nn.BatchNorm2d(8)
        self.wise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = nn.functional.relu6(self.norm(self.first(x)))
        left, right = self.up(nn.functional.hardswish(self.wise(x))).split([1, 3], 1)
        pooled = nn.functional.max_pool2d(right, 2)
        return torch.cat([left, left * 2], 1).mean((2, 3)), pooled


class Decoder(nn.Module):  # type: ignore[misc]
    """An embedding and a transformer layer."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(20, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, dropout=0)
        self.last = nn.Linear(8, 20)

    def forward(self, indices: Tensor) -> Tensor:
        return self.last(self.layer(self.table(indices)))


class Counter(nn.Module):  # type: ignore[misc]
    """A mutable buffer."""

    def __init__(self, first: float = 0.0) -> None:
        super().__init__()
        self.register_buffer("seen", torch.full((4,), first))

    def forward(self, x: Tensor) -> Tensor:
        self.seen.add_(x)
        return self.seen * 2


@dataclass(frozen=True, slots=True)
class Network:
    """A module, its inputs, and the partitioner that it is lowered with, if any."""

    module: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Tensor, ...]]
    delegated: bool = True
    partitioner: Callable[[dict[str, Any]], Any] = VulkanPartitioner
    bundled: bool = False
    store_initial_values: bool = False  # of mutable buffers
    runs: int = 1  # with the same input; results differ with mutable buffers
    options: dict[str, Any] = field(default_factory=dict)


def _floats(*shape: int) -> Callable[[], tuple[Tensor, ...]]:
    return lambda: (torch.randn(*shape),)


def _indices() -> tuple[Tensor, ...]:
    return (torch.randint(0, 20, (1, 5)),)


NETWORKS = {
    "islands": Network(Islands, _floats(2, 6)),
    "kernels": Network(Islands, _floats(2, 6), delegated=False),
    "convolutions": Network(Convolutions, _floats(1, 3, 8, 8)),
    "convolution_kernels": Network(Convolutions, _floats(1, 3, 8, 8), delegated=False),
    "decoder": Network(Decoder, _indices),
    "decoder_kernels": Network(Decoder, _indices, delegated=False),
    "half": Network(Islands, _floats(2, 6), options={"force_fp16": True}),
    "state": Network(Counter, _floats(4), delegated=False, runs=3),
    "first_value": Network(
        lambda: Counter(5.0), _floats(4), delegated=False, runs=3, store_initial_values=True
    ),
    "state_in_delegate": Network(
        lambda: Counter(5.0), _floats(4), runs=3, options={"alias_buffer_mutations": True}
    ),
    "graphs": Network(
        Islands,
        _floats(2, 6),
        partitioner=SpirloomPartitioner,
        options={"operator_blocklist": ["aten.cumsum"]},
    ),
    "graph_state": Network(
        lambda: Counter(5.0), _floats(4), runs=3, partitioner=SpirloomPartitioner
    ),
    "cases": Network(Islands, _floats(2, 6), bundled=True),
}


def lowered(network: Network, module: nn.Module, inputs: tuple[Tensor, ...]) -> Any:
    """Lowers a module to an ExecuTorch program."""
    exported = torch.export.export(module, inputs)
    partitioner = [network.partitioner(network.options)] if network.delegated else []
    edge = to_edge_transform_and_lower(exported, partitioner=partitioner)
    # Without this pass, ExecuTorch does not store initial values of mutable buffers.
    passes = [InitializedMutableBufferPass([""])] if network.store_initial_values else []
    return edge.to_executorch(ExecutorchBackendConfig(passes=passes))


def bundled(manager: Any, module: nn.Module, network: Network) -> bytes:
    """The program with test cases of random inputs."""
    torch.manual_seed(1)
    inputs = [network.inputs() for _ in range(3)]
    cases = [MethodTestCase(given, module(*given)) for given in inputs]
    bundle = BundledProgram(manager, [MethodTestSuite("forward", cases)])
    return bytes(serialize_from_bundled_program_to_flatbuffer(bundle))


def main(names: Sequence[str]) -> None:
    """Writes these programs, or all."""
    CORPUS.mkdir(parents=True, exist_ok=True)
    for name in names or NETWORKS:
        network = NETWORKS[name]
        torch.manual_seed(0)
        module, inputs = network.module().eval(), network.inputs()
        with torch.no_grad():
            manager = lowered(network, module, inputs)
            expected = [module(*inputs) for _ in range(network.runs)]
            data = bundled(manager, module, network) if network.bundled else bytes(manager.buffer)
        (CORPUS / f"{name}.{'b' * network.bundled}pte").write_bytes(data)
        results = expected[0] if isinstance(expected[0], tuple) else expected
        arrays = {f"input{i}": x.numpy() for i, x in enumerate(inputs)}
        arrays |= {f"output{i}": y.detach().numpy() for i, y in enumerate(results)}
        np.savez(CORPUS / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main(sys.argv[1:])
