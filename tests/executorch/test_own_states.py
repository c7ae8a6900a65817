"""Buffers that runs change, in programs of Spirloom's own partitioner."""

from __future__ import annotations

import copy

import pytest
import torch

from tests.executorch.own import Own
from tests.executorch.programs import check, load, run
from tests.executorch.test_states import Accumulator, Cache, Recurrent, Window, steps


class Counter(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.add_(torch.abs(x))
        return self.seen * 2.0


def values_of(program: Own) -> int:
    """How many values the method has that are tensors in ExecuTorch's memory."""
    plan = program.manager.executorch_program.execution_plan[0]
    return sum(getattr(v.val, "allocation_info", None) is not None for v in plan.values)


@pytest.mark.parametrize("states", [True, False])
def test_buffers_that_runs_change(states: bool) -> None:
    """They are the delegate's; or ExecuTorch's, which it takes and gives."""
    program = Own(Counter(), (torch.randn(3),), states=states)
    assert program.delegates == 1
    assert values_of(program) == (2 if states else 4)
    method, net = load(program.buffer), Counter()
    for _ in range(3):
        check(net, method, (torch.randn(3),))


@pytest.mark.parametrize("kind", [Accumulator, Window, Cache, Recurrent])
@pytest.mark.parametrize("storage", ["buffer", "texture3d"])
def test_states_begin_as_they_were_exported(kind: type[torch.nn.Module], storage: str) -> None:
    module = kind()
    inputs = steps(module, 6)
    program = Own(copy.deepcopy(module), inputs[0], storage=storage)
    assert program.delegates == 1
    first, second = load(program.buffer), load(program.buffer)
    other = copy.deepcopy(module)
    for given in inputs:
        check(module, first, given)
    check(other, second, inputs[0])


def test_a_buffer_that_others_read_stays() -> None:
    """What ExecuTorch's own kernel reads of a buffer cannot be the delegate's."""
    program = Own(Counter(), (torch.randn(3),), operator_blocklist=["aten.mul.Tensor"])
    assert program.delegates == 1
    assert values_of(program) == 4
    method, net = load(program.buffer), Counter()
    for _ in range(3):
        check(net, method, (torch.randn(3),))


class Giving(torch.nn.Module):  # type: ignore[misc]
    """Gives a buffer itself, as it was or as it is."""

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
    method, net = load(Own(Giving(before), (torch.randn(3),)).buffer), Giving(before)
    for _ in range(3):
        x = torch.randn(3)
        with torch.no_grad():
            wanted = [y.clone() for y in net(x)]
        for ours, theirs in zip(run(method, (x,)), wanted, strict=True):
            torch.testing.assert_close(ours, theirs)
