"""Chains of elementwise functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .elementwise import hardsigmoid, sigmoid

Array = NDArray[np.float64]

# In the order of `functions` in the spec; unary functions ignore the second operand.
FUNCTIONS: list[Callable[[Any, Any], Any]] = [
    lambda v, o: v + o,
    lambda v, o: v - o,
    lambda v, o: o - v,
    lambda v, o: v * o,
    lambda v, o: v / o,
    lambda v, o: o / v,
    np.maximum,
    np.minimum,
    lambda v, _: np.maximum(v, 0),
    lambda v, _: -v,
    lambda v, _: np.abs(v),
    lambda v, _: v * v,
    lambda v, _: np.sqrt(v),
    lambda v, _: 1 / np.sqrt(v),
    lambda v, _: 1 / v,
    lambda v, _: np.exp(v),
    lambda v, _: np.log(v),
    lambda v, _: sigmoid(v),
    lambda v, _: np.tanh(v),
    lambda v, _: v * sigmoid(v),
    lambda v, _: hardsigmoid(v),
    lambda v, _: v * hardsigmoid(v),
    lambda v, _: np.floor(v),
    lambda v, _: np.ceil(v),
]


def fused_elementwise(
    x: Array, steps: list[int], b: Array | None, c: Array | None, d: Array | None
) -> Array:
    """Step 4 k + j applies function k (from 1) with operand j: 0 none, 1 b, 2 c, 3 d."""
    value = x
    for step in steps:
        if step >= 4:
            value = FUNCTIONS[step // 4 - 1](value, (None, b, c, d)[step % 4])
    return value
