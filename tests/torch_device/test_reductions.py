"""Reductions over dimensions that are not adjacent."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.torch_device.comparison import D, both, close, on_device

# Long and short runs of reduced dimensions, before, between and after kept ones.
CALLS = [
    ((8, 16, 40, 40), (0, 2, 3)),
    ((64, 32, 7, 7), (0, 2, 3)),
    ((300, 3, 70, 2), (0, 2)),
    ((1, 6, 1, 4000), (0, 3)),
    ((40, 1, 50, 1, 33), (0, 2, 3)),
    ((6, 5, 4, 3, 70, 2), (0, 2, 4)),
    ((2, 4097, 3, 8), (1, 3)),
]
REDUCTIONS: dict[str, Any] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "amax": torch.amax,
    "norm": torch.linalg.vector_norm,
    "var": torch.var,
}


@pytest.mark.parametrize(("shape", "dims"), CALLS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_results_equal_those_of_the_cpu(
    name: str, shape: tuple[int, ...], dims: tuple[int, ...]
) -> None:
    x = torch.randn(shape) + 0.25
    for keepdim in (False, True):
        with on_device():
            actual = REDUCTIONS[name](x.to(D), dim=dims, keepdim=keepdim)
        close(actual, REDUCTIONS[name](x.double(), dim=dims, keepdim=keepdim).float(), 1e-4)


def test_float16_and_int64_sums_equal_those_of_the_cpu() -> None:
    x = torch.randint(-9, 9, (8, 16, 40, 40))
    with on_device():
        close(x.to(D).sum((0, 2, 3)), x.sum((0, 2, 3)))
        close(x.to(D).half().mean((0, 2)), x.float().mean((0, 2)).half(), 2e-3)


def test_a_gradient_over_dimensions_that_are_not_adjacent() -> None:
    both(lambda x: x.mean((0, 2, 3)), torch.randn(4, 3, 30, 30))
