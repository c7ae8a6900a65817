"""Pooling, padding and resampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

functional = torch.nn.functional


def _pad(x: Any, pad: list[int], mode: str, value: float) -> Any:
    """In double precision: PyTorch supports only floats in most modes."""
    return functional.pad(x.double(), pad, mode)


def _lp_pool(x: Any, p: float, kernel: list[int], stride: list[int], *rest: Any) -> Any:
    """Sums powers by a single-channel convolution with ones."""
    padding, dilation, ceil_mode = rest
    planes = (x.abs() ** p).reshape(-1, 1, *x.shape[-len(kernel) :])
    if ceil_mode:
        planes = functional.pad(planes, [n for s in reversed(stride) for n in (0, s - 1)])
    convolve = getattr(functional, f"conv{len(kernel)}d")
    sums = convolve(planes, torch.ones(1, 1, *kernel).double(), None, stride, padding, dilation)
    return (sums ** (1 / p)).reshape(*x.shape[: -len(kernel)], *sums.shape[2:])


def _average_pool(op: Any) -> Callable[..., Any]:
    """The operator, with the divisor None instead of 0."""
    return lambda *args: op(*args[:-1], args[-1] or None)


def _with_optional_scales(op: Any) -> Callable[..., Any]:
    """The operator, with scales None instead of 0."""

    def form(x: Any, *args: Any) -> Any:
        return op(x, *(None if isinstance(arg, float) and arg == 0 else arg for arg in args))

    return form


_SCALED = (
    "_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d "
    "upsample_bicubic2d upsample_bilinear2d upsample_linear1d upsample_nearest1d "
    "upsample_nearest2d upsample_nearest3d upsample_trilinear3d"
).split()

COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "aten.avg_pool2d": _average_pool(torch.ops.aten.avg_pool2d),
    "aten.avg_pool3d": _average_pool(torch.ops.aten.avg_pool3d),
    "aten.pad": _pad,
    "spirloom.lp_pool": _lp_pool,
}
COUNTERPARTS |= {
    f"aten.{name}": _with_optional_scales(getattr(torch.ops.aten, name).default) for name in _SCALED
}
