"""Pointwise operators, casts and creation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tests.reference.counterparts.dtypes import DTYPES
from tests.reference.library import LIBRARY

functional = torch.nn.functional


def activate(y: Any, code: int, low: float, high: float) -> Any:
    """The fused activations as PyTorch functions, by code."""
    activations: dict[int, Callable[[Any], Any]] = {
        0: lambda v: v,
        1: functional.relu,
        2: lambda v: torch.clamp(v, low, high),
        3: functional.hardswish,
        4: functional.hardsigmoid,
        5: torch.sigmoid,
        6: functional.silu,
        7: torch.tanh,
        8: lambda v: functional.leaky_relu(v, low),
        9: functional.gelu,
        10: lambda v: functional.gelu(v, approximate="tanh"),
    }
    return activations[code](y)


def _fused_elementwise(x: Any, steps: list[int], *operands: Any) -> Any:
    """Applies PyTorch's operators of the names that the spec lists."""
    names = list(LIBRARY.ops["spirloom.fused_elementwise"].kernels[0].params["functions"])  # type: ignore[call-overload]
    for step in steps:
        if step < 4:
            continue
        name = names[step // 4 - 1]
        op = functools.reduce(getattr, name.split()[-1].split("."), torch.ops)
        op = op if "." in name.partition(".")[2] else op.default
        given = [x] if step % 4 == 0 else [x, operands[step % 4 - 1]]
        x = op(*(given[::-1] if name.startswith("reversed ") else given))
    return x


def _with_zero_division(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """The function, with 0 for an integer divided by 0, which PyTorch rejects.

    In 64 bits: INT_MIN / -1 terminates the process.
    """

    def form(a: Any, b: Any) -> Any:
        if a.is_floating_point():
            return function(a, b)
        return torch.where(b == 0, 0, function(a.long(), b.long() + (b == 0))).to(a.dtype)

    return form


def _arange(start: float, end: float, step: float, dtype: str) -> Any:
    """PyTorch rejects steps away from the end; the operator returns an empty tensor."""
    if (end - start) / step < 0:
        return torch.empty(0)
    return torch.arange(start, end, step, dtype=DTYPES["f32" if dtype == "f16" else dtype])


def _to_copy(x: torch.Tensor, dtype: str) -> torch.Tensor:
    """Values beyond those of f8_e4m3, which has no infinity, become its largest, as with ONNX's
    Cast; PyTorch's become NaN.
    """
    if dtype == "f8_e4m3":
        x = x.double().clamp(-448, 448)
    return x.to(DTYPES[dtype])


def _clamp(x: Any, low: float, high: float) -> Any:
    if x.is_floating_point():
        return torch.clamp(x, low, high)
    limits = torch.iinfo(x.dtype)
    return torch.clamp(x, int(max(low, limits.min)), int(min(high, limits.max)))


_MAX = torch.finfo(torch.float32).max


def _rounded_division(mode: str) -> Callable[[Any, Any], Any]:
    """A rounded quotient; floats are divided in single precision, which matters near an integer."""
    divide = _with_zero_division(functools.partial(torch.div, rounding_mode=mode))
    return lambda a, b: divide(a.float(), b.float()) if a.is_floating_point() else divide(a, b)


_ROUNDED = {mode: _rounded_division(mode) for mode in ("trunc", "floor")}

COUNTERPARTS: dict[str, Callable[..., Any]] = {
    "spirloom.fused_elementwise": _fused_elementwise,
    "aten._prelu_kernel": lambda a, b: torch.where(a > 0, a, a * b),
    "aten._to_copy": _to_copy,
    "aten.add.Tensor": lambda a, b, alpha, *act: activate(torch.add(a, b, alpha=alpha), *act),
    "aten.addcdiv": lambda x, a, b, value: torch.addcdiv(x, a, b, value=value),
    "aten.addcmul": lambda x, a, b, value: torch.addcmul(x, a, b, value=value),
    "aten.arange.start_step": _arange,
    "aten.bitwise_left_shift.Tensor": lambda a, b: torch.where(
        b.long() % 256 < 8 * a.element_size(), a << b.clamp(min=0), torch.zeros_like(a)
    ),
    "aten.clamp": _clamp,
    "aten.div.Tensor": lambda a, b: torch.div(a.double(), b.double()),
    "aten.div.Tensor_mode": lambda a, b, mode: _ROUNDED[mode](a, b),
    "aten.eye.m": lambda n, m, dtype: torch.eye(n, m).to(DTYPES[dtype]),
    "aten.floor_divide": _ROUNDED["floor"],
    "aten.fmod.Tensor": _with_zero_division(torch.fmod),
    "aten.full": lambda size, value, dtype: torch.full(size, value, dtype=DTYPES[dtype]),
    "aten.gelu": lambda x, kind: functional.gelu(x, approximate=kind),
    "aten.hardtanh": _clamp,
    "aten.linspace": lambda start, end, steps, dtype: torch.linspace(
        start, end, steps, dtype=torch.float64
    ),
    "aten.logit": lambda x, eps: torch.logit(x, None if eps < 0 else eps),
    "aten.nan_to_num": lambda x, nan, high, low: torch.nan_to_num(
        x, nan, min(high, _MAX), max(low, -_MAX)
    ),
    "aten.remainder.Tensor": _with_zero_division(torch.remainder),
    "aten.sub.Tensor": lambda a, b, alpha: torch.sub(a, b, alpha=alpha),
    "spirloom.softsign": functional.softsign,
    "spirloom.swiglu": lambda a, b: functional.silu(a) * b,
}
