"""Mutable buffers of a module are states of the delegate: they persist between runs."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from tests.executorch.programs import Inputs, Lowered, Module, check, load, run

# Without it, ExecuTorch's partitioner makes updates unused outputs of the delegate.
OPTIONS: dict[str, Any] = {"alias_buffer_mutations": True}


class Accumulator(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([1.0, -2.0, 3.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return self.total * 2.0 + x


class Window(torch.nn.Module):  # type: ignore[misc]
    """A sliding window of four rows, and twice the dropped row."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(4, 3))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        dropped = self.rows[0:1] * 2.0
        self.rows.copy_(torch.cat([self.rows[1:4], x], 0))
        return self.rows * 1.5, dropped


class Cache(torch.nn.Module):  # type: ignore[misc]
    """Attention with a KV cache that is updated at a given position."""

    def __init__(self, slots: int = 8, heads: int = 2, size: int = 4) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, heads, slots, size))
        self.register_buffer("values", torch.zeros(1, heads, slots, size))
        self.register_buffer("slots", torch.arange(slots, dtype=torch.float32).view(1, 1, slots, 1))

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, at: torch.Tensor
    ) -> torch.Tensor:
        here = self.slots == at
        self.keys.copy_(torch.where(here, k, self.keys))
        self.values.copy_(torch.where(here, v, self.values))
        scores = torch.matmul(q, self.keys.transpose(2, 3))
        scores = torch.where((self.slots <= at).transpose(2, 3), scores, -1e9)
        return torch.matmul(torch.softmax(scores, -1), self.values)


class Recurrent(torch.nn.Module):  # type: ignore[misc]
    """Two states. The update of the second reads the first before its update."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = torch.nn.Linear(5, 5)
        self.register_buffer("hidden", torch.ones(1, 5))
        self.register_buffer("before", torch.zeros(1, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.before.copy_(self.hidden * 0.5)
        made = torch.tanh(self.cell(self.hidden) + x)
        self.hidden.copy_(made)
        return self.before + made


def steps(module: torch.nn.Module, count: int) -> list[Inputs]:
    """Inputs of successive runs."""
    random = torch.Generator().manual_seed(3)

    def some(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=random)

    match module:
        case Accumulator():
            return [(some(3),) for _ in range(count)]
        case Window():
            return [(some(1, 3),) for _ in range(count)]
        case Recurrent():
            return [(some(1, 5),) for _ in range(count)]
        case _:
            return [
                (*(some(1, 2, 1, 4) for _ in range(3)), torch.full((1, 1, 1, 1), float(i)))
                for i in range(count)
            ]


def lowered(module: torch.nn.Module, inputs: Inputs, **options: Any) -> Lowered:
    """Lowers a copy of the module."""
    with torch.no_grad():
        return Lowered(copy.deepcopy(module), inputs, **options)


@pytest.mark.parametrize("kind", [Accumulator, Window, Cache, Recurrent])
@pytest.mark.parametrize("storage", ["buffer", "texture"])
def test_states_persist(kind: type[torch.nn.Module], storage: str) -> None:
    from executorch.backends.vulkan.serialization.vulkan_graph_schema import VkStorageType

    module = kind()
    inputs = steps(module, 6)
    types = {"buffer": VkStorageType.BUFFER, "texture": VkStorageType.TEXTURE_3D}
    program = lowered(module, inputs[0], **OPTIONS, storage_type_override=types[storage])
    assert program.delegates == 1
    method = load(program.buffer)
    for given in inputs:
        check(module, method, given)


def test_loaded_methods_have_separate_states() -> None:
    one, two = Accumulator(), Accumulator()
    inputs = steps(one, 5)
    program = lowered(one, inputs[0], **OPTIONS)
    first, second = load(program.buffer), load(program.buffer)
    for i, given in enumerate(inputs):
        check(one, first, given)
        if i % 2 == 0:
            check(two, second, given)


def test_fp16() -> None:
    module = Accumulator()
    inputs = steps(module, 4)
    method = load(lowered(module, inputs[0], **OPTIONS, force_fp16=True).buffer)
    for given in inputs:
        check(module, method, given, 1e-2)


def test_the_error_without_the_option_names_it() -> None:
    module = Accumulator()
    (given,) = steps(module, 1)
    method = load(lowered(module, given).buffer)
    with pytest.raises(RuntimeError, match=r"VulkanPartitioner\({'alias_buffer_mutations': True}"):
        run(method, given)


def test_immutable_buffers_are_constants() -> None:
    class Offset(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("offset", torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.offset

    module = Offset()
    method = load(Lowered(module, (torch.zeros(3),), **OPTIONS).buffer)
    for _ in range(2):
        check(Module(module), method, (torch.randn(3),))
