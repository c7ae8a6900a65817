"""Elementwise operators that need more than one NumPy expression."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spec_model.activations import Activation

Array = NDArray[np.float64]


def erf(x: Array) -> Array:
    """The error function."""
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x))


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow of exp."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def hardsigmoid(x: Array) -> Array:
    """clip(x + 3, 0, 6) / 6"""
    return np.clip(x + 3, 0, 6) / 6


def activate(x: Array, activation: int, act_min: float, act_max: float) -> Array:
    """A fused activation, selected by its code."""
    match activation:
        case Activation.NONE:
            return x
        case Activation.RELU:
            return np.maximum(x, 0)
        case Activation.CLAMP:
            return np.clip(x, act_min, act_max)
        case Activation.HARDSWISH:
            return x * hardsigmoid(x)
        case Activation.HARDSIGMOID:
            return hardsigmoid(x)
        case Activation.SIGMOID:
            return sigmoid(x)
        case Activation.SILU:
            return x * sigmoid(x)
        case Activation.TANH:
            return np.tanh(x)
        case Activation.LEAKY_RELU:
            return np.where(x > 0, x, x * act_min)
        case Activation.GELU:
            return x * 0.5 * (1 + erf(x / math.sqrt(2)))
        case Activation.GELU_TANH:
            return gelu(x, "tanh")
    raise ValueError(f"Activation code {activation} is not in the table.")


def add(a: Array, b: Array, alpha: float, activation: int, act_min: float, act_max: float) -> Array:
    """activation(a + alpha * b)"""
    return activate(a + scaled(b, alpha), activation, act_min, act_max)


def scaled(x: Array, alpha: float) -> Array:
    """alpha * x. Integers stay integers without a factor."""
    return x if alpha == 1 else alpha * x


def hardswish(x: Array) -> Array:
    """x * hardsigmoid(x)"""
    return x * hardsigmoid(x)


def silu(x: Array) -> Array:
    """x * sigmoid(x)"""
    return x * sigmoid(x)


def glu(x: Array, dim: int) -> Array:
    """a * sigmoid(b), with a and b the first and second half of x along `dim`."""
    a, b = np.split(x, 2, axis=dim)
    return a * sigmoid(b)


def gelu(x: Array, approximate: str) -> Array:
    """x times the normal CDF of x, or its tanh approximation."""
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return np.asarray(x * 0.5 * (1 + np.tanh(inner)))
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def lerp(a: Array, b: Array, weight: Array | float) -> Array:
    """(1 - weight) a + weight b; PyTorch's two formulas if an intermediate is not finite."""
    far = np.where(weight < 0.5, a + weight * (b - a), b - (b - a) * (1 - weight))
    return np.where(np.isfinite(weight * (b - a)), (1 - weight) * a + weight * b, far)


def power(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """a ** b; integers wrap. As in PyTorch, 2 ** -1 and 0 ** -1 are 0 for integers."""
    if a.dtype.kind == "f":
        y: NDArray[Any] = np.power(a, b)
        return y
    inverse = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
    result: NDArray[Any] = np.where(b < 0, inverse, np.power(a, np.maximum(b, 0)))
    return result


def nan_to_num(x: Array, nan: float, posinf: float, neginf: float) -> Array:
    """x with NaN and infinities replaced; infinite replacements are clamped to finite float32."""
    limit = float(np.finfo(np.float32).max)
    return np.nan_to_num(x, nan=nan, posinf=min(posinf, limit), neginf=max(neginf, -limit))


def remainder(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """a - b floor(a / b), as PyTorch computes it: NumPy's differs for infinite b."""
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def divide_rounding(a: NDArray[Any], b: NDArray[Any], rounding_mode: str) -> NDArray[Any]:
    """a / b, truncated or rounded down. Integer division by 0 is 0, as in NumPy.

    Floats are divided in float32, as in PyTorch: rounding may yield the next integer.
    """
    if a.dtype.kind == "f":
        a, b = a.astype(np.float32), b.astype(np.float32)
        return np.asarray(np.floor_divide(a, b) if rounding_mode == "floor" else np.trunc(a / b))
    down = np.asarray(np.floor_divide(a, b))
    if rounding_mode == "trunc":
        down += ((a < 0) != (b < 0)) & (down * b != a) & (b != 0)
    return down
