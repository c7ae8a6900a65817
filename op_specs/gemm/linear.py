"""Linear layers and GEMM."""

import numpy as np
from numpy.typing import NDArray

from ..elementwise.elementwise import activate

Array = NDArray[np.float64]


def linear(
    x: Array,
    weight: Array,
    bias: Array | None,
    activation: int,
    act_min: float,
    act_max: float,
    addend: Array | None,
    rms_weight: Array | None,
    rms_eps: Array | None,
) -> Array:
    """activation(rms_norm(x) · weightᵀ + bias + addend), all but the matmul optional."""
    y = rms_normalized(x, rms_weight, rms_eps) @ weight.T
    if bias is not None:
        y = y + bias
    if addend is not None:
        y = y + addend
    return activate(y, activation, act_min, act_max)


def linear_k_slices(x: Array, weight: Array, slices: int) -> Array:
    """The products x · weightᵀ over slices of the inner dimension, of a multiple of 64 each."""
    depth = -(-weight.shape[1] // (64 * slices)) * 64
    rows = x.reshape(-1, weight.shape[1])
    parts = [slice(s * depth, (s + 1) * depth) for s in range(slices)]
    return np.stack([rows[:, part] @ weight[:, part].T for part in parts])


def gated_linear(
    x: Array,
    weight: Array,
    bias: Array | None,
    activation: int,
    act_min: float,
    act_max: float,
    rms_weight: Array | None,
    rms_eps: Array | None,
) -> Array:
    """activation(gate) · up, with gate and up the first and second half of the output columns."""
    y = linear(x, weight, bias, 0, 0.0, 0.0, None, rms_weight, rms_eps)
    gate, up = np.split(y, 2, axis=-1)
    return activate(gate, activation, act_min, act_max) * up


def rms_normalized(x: Array, rms_weight: Array | None, rms_eps: Array | None) -> Array:
    """RMS norm of the single row of x; x itself without `rms_weight`."""
    if rms_weight is None or rms_eps is None:
        return x
    root = np.sqrt(np.mean(x * x) + rms_eps[0])
    return np.asarray(x / root * rms_weight)


def addmm(c: Array, a: Array, b: Array, beta: float, alpha: float) -> Array:
    """alpha a b + beta c; c is ignored, NaN included, if beta is 0."""
    y = alpha * (a @ b)
    return y if beta == 0 else y + beta * c
