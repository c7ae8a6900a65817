"""Pools, padding and resampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

functional = torch.nn.functional


def _pad(x: Any, pad: list[int], mode: str) -> Any:
    """PyTorch pads floats only, and not every rank in every mode."""
    return functional.pad(x.double(), pad, mode)


def _lp_pool(x: Any, p: float, kernel: list[int], stride: list[int], *rest: Any) -> Any:
    """The sums of powers as a convolution with ones, of one channel."""
    padding, dilation, ceil_mode = rest
    planes = (x.abs() ** p).reshape(-1, 1, *x.shape[-len(kernel) :])
    if ceil_mode:
        planes = functional.pad(planes, [n for s in reversed(stride) for n in (0, s - 1)])
    convolve = getattr(functional, f"conv{len(kernel)}d")
    sums = convolve(planes, torch.ones(1, 1, *kernel).double(), None, stride, padding, dilation)
    return (sums ** (1 / p)).reshape(*x.shape[: -len(kernel)], *sums.shape[2:])


FORMS: dict[str, Callable[..., Any]] = {
    "aten.pad": _pad,
    "spirloom.lp_pool": _lp_pool,
}
