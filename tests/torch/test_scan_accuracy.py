"""Rounding errors of sums along long rows, compared with PyTorch in float64 and float32."""

from __future__ import annotations

import pytest
import spirloom
import spirloom.torch
import torch

EPSILON = 2.0**-24  # Largest relative error of one rounding to float32.


class Cumsum(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.cumsum(self.dim)


@pytest.mark.parametrize("signed", [False, True], ids=["positive", "signed"])
@pytest.mark.parametrize("shape, dim", [((1, 100_000), 1), ((50_000, 3), 0), ((1, 1_000), 1)])
def test_cumsum_error_does_not_grow_with_the_length(
    shape: tuple[int, ...], dim: int, signed: bool
) -> None:
    """The error of an element is at most 16 roundings of the sum of magnitudes up to it.

    A serial float32 sum has up to as many roundings as terms. PyTorch adds in float64 on the CPU.
    """
    x = torch.rand(shape, generator=torch.Generator().manual_seed(len(shape))) - 0.5 * signed
    model = spirloom.load(spirloom.torch.export(Cumsum(dim), (x,)))
    (y,) = model(x.numpy())
    exact = x.double().cumsum(dim)
    bound = 16 * EPSILON * x.double().abs().cumsum(dim)
    error = (torch.from_numpy(y).double() - exact).abs()
    assert (error <= bound).all(), f"{(error / bound).max():.2f} times the bound"
    assert ((x.cumsum(dim).double() - exact).abs() <= bound).all()
