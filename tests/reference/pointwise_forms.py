"""PyTorch's words for pointwise operators and reductions whose args differ from ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _divided(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The function, with 0 where an integer is divided by 0, which PyTorch refuses."""

    def form(a: Any, b: Any) -> Any:
        if a.is_floating_point():
            return function(a, b)
        return torch.where(b == 0, torch.zeros((), dtype=a.dtype), function(a, b + (b == 0)))

    return form


def _over(function: Callable[[Any, int], Any]) -> Callable[[Any, list[int], bool], Any]:
    """A reduction of one dim, applied from the last dim to the first."""

    def form(x: Any, dims: list[int], keepdim: bool) -> Any:
        for dim in sorted((d % x.ndim for d in dims), reverse=True):
            x = function(x, dim)
            x = x.unsqueeze(dim) if keepdim else x
        return x

    return form


def _arange(start: float, end: float, step: float, dtype: str) -> Any:
    """PyTorch refuses steps that lead away from the end."""
    if (end - start) / step < 0:
        return torch.empty(0)
    return torch.arange(start, end, step, dtype=torch.float64).to(_DTYPES[dtype])


_DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "i32": torch.int32,
    "i8": torch.int8,
    "u8": torch.uint8,
    "b8": torch.bool,
}
_GREATEST = torch.finfo(torch.float32).max
_ROUNDED = {
    mode: _divided(lambda a, b, mode=mode: torch.div(a, b, rounding_mode=mode))  # type: ignore[misc]
    for mode in ("trunc", "floor")
}

FORMS: dict[str, Callable[..., Any]] = {
    "aten._prelu_kernel": lambda a, b: torch.where(a > 0, a, a * b),
    "aten.addcmul": lambda x, a, b, value: torch.addcmul(x, a, b, value=value),
    "aten.addcdiv": lambda x, a, b, value: torch.addcdiv(x, a, b, value=value),
    "aten.all.dims": _over(lambda x, dim: torch.all(x != 0, dim)),
    "aten.any.dims": _over(lambda x, dim: torch.any(x != 0, dim)),
    "aten.arange.start_step": _arange,
    "aten.bitwise_left_shift.Tensor": lambda a, b: torch.where(b < 0, 0 * a, a << b.clamp(min=0)),
    "aten.div.Tensor_mode": lambda a, b, mode: _ROUNDED[mode](a, b),
    "aten.floor_divide": _ROUNDED["floor"],
    "aten.fmod.Tensor": _divided(torch.fmod),
    "aten.full": lambda size, value, dtype: torch.full(size, value, dtype=_DTYPES[dtype]),
    "aten.linalg_vector_norm": lambda x, dim, keepdim, order: torch.linalg.vector_norm(
        x, order, dim, keepdim
    ),
    "aten.nan_to_num": lambda x, nan, high, low: torch.nan_to_num(
        x, nan, min(high, _GREATEST), max(low, -_GREATEST)
    ),
    "aten.remainder.Tensor": _divided(torch.remainder),
    "aten.std.correction": lambda x, dim, keepdim, correction: torch.std(
        x, dim, correction=int(correction), keepdim=keepdim
    ),
    "aten.var.correction": lambda x, dim, keepdim, correction: torch.var(
        x, dim, correction=int(correction), keepdim=keepdim
    ),
}
