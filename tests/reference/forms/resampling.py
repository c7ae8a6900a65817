"""Pools, padding and resampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

functional = torch.nn.functional


def _pad(x: Any, pad: list[int], mode: str, value: float) -> Any:
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


def _averaged(op: Any) -> Callable[..., Any]:
    """The operator, whose divisor is None where ours is 0."""
    return lambda *args: op(*args[:-1], args[-1] or None)


def _scaled(op: Any) -> Callable[..., Any]:
    """The operator, whose scales are None where ours are 0."""

    def form(x: Any, *args: Any) -> Any:
        return op(x, *(None if isinstance(arg, float) and arg == 0 else arg for arg in args))

    return form


_SCALED = (
    "_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d upsample_bicubic2d "
    "upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_nearest3d "
    "upsample_trilinear3d"
).split()

FORMS: dict[str, Callable[..., Any]] = {
    "aten.avg_pool2d": _averaged(torch.ops.aten.avg_pool2d),
    "aten.avg_pool3d": _averaged(torch.ops.aten.avg_pool3d),
    "aten.pad": _pad,
    "spirloom.lp_pool": _lp_pool,
}
FORMS |= {f"aten.{name}": _scaled(getattr(torch.ops.aten, name).default) for name in _SCALED}
