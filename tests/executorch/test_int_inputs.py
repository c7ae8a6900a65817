"""Symbolic ints that are sizes are integer inputs of the graph. Others are data of a run, so that
other values need no other execution plan."""

from __future__ import annotations

import pytest
import torch

from tests.executorch.programs import Inputs, Lowered, check, load


class Rows(torch.nn.Module):  # type: ignore[misc]
    """Two rows from a position, that row by itself, and positions in arithmetic."""

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> tuple[torch.Tensor, ...]:
        at = position.item()
        torch._check(at >= 0)
        torch._check(at + 2 <= x.shape[0])
        rows = x[at : at + 2] * 2.0
        row = x.select(0, at) + 1.0
        return rows, row, x * at, torch.arange(at, at + 4) * 2


def inputs(at: int, kind: torch.dtype = torch.int64) -> Inputs:
    x = torch.randn(9, 3, generator=torch.Generator().manual_seed(at))
    return x, torch.tensor([at], dtype=kind)


@pytest.mark.parametrize("kind", [torch.int64, torch.int32])
def test_positions_are_data(kind: torch.dtype) -> None:
    module = Rows()
    lowered = Lowered(module, inputs(4, kind))
    method = load(lowered.buffer)
    for at in (0, 7, 3, 7, 1):
        check(module, method, inputs(at, kind))


class Prefix(torch.nn.Module):  # type: ignore[misc]
    """Sums of the first rows, whose number is an element of an input."""

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        count = position.item()
        torch._check(count >= 2)
        torch._check(count <= x.shape[0])
        return (x[:count] * 2.0).sum(0)


def test_counts_are_sizes() -> None:
    module = Prefix()
    lowered = Lowered(module, inputs(4))
    assert lowered.delegates == 1
    method = load(lowered.buffer)
    for count in (2, 9, 5, 9, 3):
        check(module, method, inputs(count))
