"""Inputs and outputs of delegates in another dim order than row-major."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.executorch.partitioned import PartitionedProgram
from tests.executorch.programs import Lowered, Module, check, load

LAST = torch.channels_last


class Net(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 6, 3)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.conv(x))


@pytest.mark.parametrize("kind", [Lowered, PartitionedProgram])
def test_channels_last(kind: type) -> None:
    net = Net().eval().to(memory_format=LAST)
    x = torch.randn(1, 3, 7, 9).to(memory_format=LAST)
    program = kind(net, (x,))
    method = load(program.buffer)
    for _ in range(2):
        check(net, method, (torch.randn(1, 3, 7, 9).to(memory_format=LAST),))


@pytest.mark.parametrize("kind", [Lowered, PartitionedProgram])
@pytest.mark.parametrize("dtype", [torch.int64, torch.float16, torch.bool])
def test_dtypes(dtype: torch.dtype, kind: type) -> None:
    """64-bit elements are also converted."""
    select = Module(lambda x, y, which: (torch.where(which, x, y), y.clone()))
    numbers = [(torch.randn(2, 3, 4, 5) * 9).to(dtype) for _ in range(2)]
    inputs = tuple(t.to(memory_format=LAST) for t in (*numbers, torch.rand(2, 3, 4, 5) > 0.5))
    check(select, load(kind(select, inputs).buffer), inputs)
