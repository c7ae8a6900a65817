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
    norm: Array | None,
    norm_eps: Array | None,
) -> Array:
    """x, normed, times the transposed weight, plus the bias and the addend, then the activation."""
    y = normed(x, norm, norm_eps) @ weight.T
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
    norm: Array | None,
    norm_eps: Array | None,
) -> Array:
    """What the first half of the columns give, through the activation, times the other half."""
    gate, other = np.split(linear(x, weight, bias, 0, 0.0, 0.0, None, norm, norm_eps), 2, axis=-1)
    return activate(gate, activation, act_min, act_max) * other


def normed(x: Array, norm: Array | None, norm_eps: Array | None) -> Array:
    """The row by its root mean square, times the norm, if there is one."""
    if norm is None or norm_eps is None:
        return x
    root = np.sqrt(np.mean(x * x) + norm_eps[0])
    return np.asarray(x / root * norm)


def addmm(c: Array, a: Array, b: Array, beta: float, alpha: float) -> Array:
    """The product scaled, plus c scaled, if it counts at all."""
    y = alpha * (a @ b)
    return y if beta == 0 else y + beta * c
