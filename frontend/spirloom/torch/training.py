"""Training is torch's: who asks for gradients is told once."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

_told = False


def wants_gradients(values: Iterable[Any]) -> bool:
    """Whether torch would record what becomes of these values."""
    import torch

    return torch.is_grad_enabled() and any(
        isinstance(value, torch.Tensor) and value.requires_grad for value in values
    )


def tell_once() -> None:
    """A warning, with the first call only."""
    global _told
    if not _told:
        _told = True
        warnings.warn(
            "Spirloom computes inference only, and gradients are asked for here: PyTorch runs it "
            "eagerly. Call it under torch.no_grad() or torch.inference_mode().",
            stacklevel=3,
        )


def tell_again() -> None:
    """The next call of tell_once() warns again."""
    global _told
    _told = False
