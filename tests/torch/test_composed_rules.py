"""Order statistics, windows, quantization-aware training and others that are composed of operators,
compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.torch.test_composed_operators import compare, randn

NAN = torch.tensor([[1.0, float("nan"), 2.0, -1.0], [3.0, 0.5, -2.0, 7.0]])

ORDER: dict[str, Callable[[torch.Tensor], Any]] = {
    "median": torch.median,
    "median of rows": lambda x: x.median(1),
    "median of columns": lambda x: x.median(0, keepdim=True),
    "kthvalue": lambda x: x.kthvalue(2, dim=1),
    "largest": lambda x: x.kthvalue(x.shape[0], dim=0, keepdim=True),
}


@pytest.mark.parametrize("name", ORDER)
@pytest.mark.parametrize("shape", [(2, 5), (3, 4), (1, 2)], ids=str)
def test_order_statistics(name: str, shape: tuple[int, int]) -> None:
    compare(ORDER[name], randn(*shape))


@pytest.mark.parametrize("name", ["median", "median of rows", "median of columns"])
def test_a_median_with_nan_is_nan(name: str) -> None:
    compare(ORDER[name], NAN)


def test_median_of_integers() -> None:
    compare(lambda x: x.median(0), torch.tensor([[4, 1], [2, 8], [3, 3]], dtype=torch.int32))


ONE: dict[str, Callable[[torch.Tensor], Any]] = {
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(0) + 1,
    "cummax": lambda x: x.cummax(0),
    "sort": lambda x: x.sort(),
    "topk": lambda x: x.topk(1),
    "median": lambda x: x.median(),
    "kthvalue": lambda x: x.kthvalue(1),
}


@pytest.mark.parametrize("name", ONE)
def test_values_without_dimensions(name: str) -> None:
    compare(ONE[name], torch.tensor(2.5))


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("shift", [1, -2, 30])
def test_roll_without_dimensions(shape: tuple[int, ...], shift: int) -> None:
    compare(lambda x: torch.roll(x, shift), randn(*shape))


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett"])
def test_windows(name: str, periodic: bool) -> None:
    make = getattr(torch, f"{name}_window")
    for count in (1, 2, 5, 8):
        compare(lambda x, n=count: x * make(n, periodic=periodic), randn(count), tolerance=1e-6)


def test_windows_with_coefficients() -> None:
    compare(lambda x: x * torch.hamming_window(8, True, 0.6), randn(8))
    compare(lambda x: x * torch.hamming_window(8, False, 0.6, 0.3), randn(8))


def test_angle() -> None:
    compare(torch.angle, torch.tensor([-2.0, -0.0, 0.0, 3.0, float("inf"), float("nan")]))
    compare(torch.angle, torch.tensor([-2, 0, 3], dtype=torch.int32))


def test_rrelu() -> None:
    compare(nn.RReLU(0.1, 0.5).eval(), randn(3, 4))


@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("affine", [True, False])
def test_instance_norm_with_running_statistics(rank: int, affine: bool) -> None:
    kind = nn.InstanceNorm1d if rank == 3 else nn.InstanceNorm2d
    norm = kind(4, affine=affine, track_running_stats=True)
    for _ in range(3):
        norm(randn(2, 4, *(5,) * (rank - 2)) * 3 + 1)
    compare(norm.eval(), randn(2, 4, *(6,) * (rank - 2)))


@pytest.mark.parametrize("factor", [1.7, 1.5, 0.6, 2.3, 3.0])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_resizing_by_factors(rank: int, mode: str, factor: float) -> None:
    x = randn(1, 2, *(7, 5, 4)[:rank])
    compare(lambda x: F.interpolate(x, scale_factor=factor, mode=mode), x)
    compare(
        lambda x: F.interpolate(x, scale_factor=factor, mode=mode, recompute_scale_factor=True), x
    )


def test_fake_quantization() -> None:
    def of_tensor(x: torch.Tensor) -> torch.Tensor:
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -128, 127)

    def of_channels(x: torch.Tensor) -> torch.Tensor:
        scale, zero = torch.tensor([0.1, 0.02, 0.5]), torch.tensor([0, 3, -7], dtype=torch.int32)
        return torch.fake_quantize_per_channel_affine(x, scale, zero, 1, -128, 127)

    x = torch.cat([randn(5, 3) * 5, torch.tensor([[0.05, 0.15, 100.0], [-0.25, -100.0, 0.25]])])
    compare(of_tensor, x)
    compare(of_channels, x)
