"""Products with a weight matrix."""

import numpy as np
from numpy.typing import NDArray

from .elementwise import activate

Array = NDArray[np.float64]


def linear(
    x: Array,
    weight: Array,
    bias: Array | None,
    activation: int,
    act_min: float,
    act_max: float,
    addend: Array | None,
) -> Array:
    """x times the transposed weight, plus the bias and the addend, then the activation."""
    y = x @ weight.T
    if bias is not None:
        y = y + bias
    if addend is not None:
        y = y + addend
    return activate(y, activation, act_min, act_max)


def gated_linear(
    x: Array,
    weight: Array,
    bias: Array | None,
    activation: int,
    act_min: float,
    act_max: float,
) -> Array:
    """What the first half of the columns give, through the activation, times the other half."""
    gate, other = np.split(linear(x, weight, bias, 0, 0.0, 0.0, None), 2, axis=-1)
    return activate(gate, activation, act_min, act_max) * other


def addmm(c: Array, a: Array, b: Array, beta: float, alpha: float) -> Array:
    """The product scaled, plus c scaled, if it counts at all."""
    y = alpha * (a @ b)
    return y if beta == 0 else y + beta * c
