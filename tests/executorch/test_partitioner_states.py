"""Mutable buffers in programs lowered with SpirloomPartitioner."""

from __future__ import annotations

import copy

import pytest
import torch

from tests.executorch.partitioned import PartitionedProgram
from tests.executorch.programs import check, load, run
from tests.executorch.test_states import Accumulator, Cache, Recurrent, Window, steps


class Counter(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.add_(torch.abs(x))
        return self.seen * 2.0


def values_of(program: PartitionedProgram) -> int:
    """The number of the method's tensors in ExecuTorch's memory."""
    plan = program.manager.executorch_program.execution_plan[0]
    return sum(getattr(v.val, "allocation_info", None) is not None for v in plan.values)


@pytest.mark.parametrize("states", [True, False])
def test_mutable_buffers(states: bool) -> None:
    """They are states of the delegate, or ExecuTorch's buffers, passed as inputs and outputs."""
    program = PartitionedProgram(Counter(), (torch.randn(3),), states=states)
    assert program.delegates == 1
    assert values_of(program) == (2 if states else 4)
    method, net = load(program.buffer), Counter()
    for _ in range(3):
        check(net, method, (torch.randn(3),))


@pytest.mark.parametrize("kind", [Accumulator, Window, Cache, Recurrent])
@pytest.mark.parametrize("storage", ["buffer", "texture3d"])
def test_states_have_the_exported_initial_values(kind: type[torch.nn.Module], storage: str) -> None:
    module = kind()
    inputs = steps(module, 6)
    program = PartitionedProgram(copy.deepcopy(module), inputs[0], storage=storage)
    assert program.delegates == 1
    first, second = load(program.buffer), load(program.buffer)
    other = copy.deepcopy(module)
    for given in inputs:
        check(module, first, given)
    check(other, second, inputs[0])


def test_a_buffer_with_other_readers_is_not_a_state() -> None:
    """A buffer that one of ExecuTorch's kernels reads remains in ExecuTorch's memory."""
    program = PartitionedProgram(
        Counter(), (torch.randn(3),), operator_blocklist=["aten.mul.Tensor"]
    )
    assert program.delegates == 1
    assert values_of(program) == 4
    method, net = load(program.buffer), Counter()
    for _ in range(3):
        check(net, method, (torch.randn(3),))


class ReturnsBuffer(torch.nn.Module):  # type: ignore[misc]
    """Returns the buffer, before or after the update."""

    def __init__(self, before: bool) -> None:
        super().__init__()
        self.before = before
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        old = self.seen.clone()
        self.seen.add_(torch.abs(x))
        return x * 2.0, old if self.before else self.seen


@pytest.mark.parametrize("before", [True, False])
def test_a_buffer_that_is_an_output(before: bool) -> None:
    method, net = (
        load(PartitionedProgram(ReturnsBuffer(before), (torch.randn(3),)).buffer),
        ReturnsBuffer(before),
    )
    for _ in range(3):
        x = torch.randn(3)
        with torch.no_grad():
            expected = [y.clone() for y in net(x)]
        for ours, theirs in zip(run(method, (x,)), expected, strict=True):
            torch.testing.assert_close(ours, theirs)
