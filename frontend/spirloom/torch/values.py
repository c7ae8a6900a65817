"""What names of a program stand for while it is imported."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from spirloom.ir import Tensor
from spirloom.lifter import Value

__all__ = ["Item", "Value", "is_value"]

# A tensor, a constant in torch's own type, a plain value known at import, or a list of such.
Item = Any


def is_value(item: Item) -> TypeGuard[Value]:
    """Whether it is a tensor or a constant array."""
    return isinstance(item, Tensor | np.ndarray)
