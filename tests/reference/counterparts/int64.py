"""int64 values that are pairs of int32 in the last dim: the low word, the high word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _join(pairs: Any) -> Any:
    """The int64 tensor with the memory of the pairs."""
    if pairs.numel() == 0:  # has strides that a view of words cannot have
        return pairs[..., 0].long()
    return pairs.to(torch.int32).contiguous().view(torch.int64).squeeze(-1)


def _split(values: Any) -> Any:
    if values.numel() == 0:
        return values.long().unsqueeze(-1).expand(*values.shape, 2)
    return values.long().contiguous().unsqueeze(-1).view(torch.int32).long()


def _compared(compare: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: compare(_join(a), _join(b))


def _computed(compute: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: _split(compute(_join(a), _join(b)))


def _divided(divide: Callable[..., Any]) -> Callable[..., Any]:
    """Division that is 0 for a divisor of 0, an error in PyTorch; -2^63 / -1 wraps."""

    def divided(a: Any, b: Any) -> Any:
        left, right = torch.broadcast_tensors(_join(a), _join(b))
        is_exact = (right != 0) & (right != -1)
        found = divide(left, torch.where(is_exact, right, 2))
        negated = -left if divide is torch.floor_divide else 0
        return _split(torch.where(is_exact, found, torch.where(right == -1, negated, 0)))

    return divided


def _to(x: Any, dtype: str) -> Any:
    values = _join(x)
    if dtype in ("f32", "f16"):
        return values.float().double()
    types = {"i32": torch.int32, "i8": torch.int8, "u8": torch.uint8, "b8": torch.bool}
    return values.to(types[dtype])


def _reduced(reduce: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim: _split(reduce(_join(x), dim))


_COMPUTED = ["add", "sub", "mul", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"]
_FUNCTIONS = {
    _computed: _COMPUTED,
    _divided: ["floor_divide", "remainder", "fmod"],
    _compared: ["eq", "ne", "lt", "le", "gt", "ge"],
    _reduced: ["sum", "amax", "amin", "cumsum"],
}

COUNTERPARTS: dict[str, Callable[..., Any]] = {
    f"spirloom.int64_{name}": wrap(getattr(torch, name))
    for wrap, names in _FUNCTIONS.items()
    for name in names
} | {
    "spirloom.int64_widen": _split,
    "spirloom.int64_index": lambda x: _join(x).clamp(-(2**31), 2**31 - 1),
    "spirloom.int64_to": _to,
}
