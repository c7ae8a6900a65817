"""Special functions, in float64."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _each(function: Callable[[float], float], x: Array) -> Array:
    return np.asarray(np.vectorize(function, otypes=[np.float64])(x))


def logit(x: Array, eps: float) -> Array:
    """log(x / (1 - x)); a non-negative eps clamps x to [eps, 1 - eps]."""
    x = x if eps < 0 else np.clip(x, eps, 1 - eps)
    return np.asarray(np.log(x / (1 - x)))


def xlogy(a: Array, b: Array) -> Array:
    """a log(b); 0 if a is 0, NaN if b is NaN."""
    return np.where((a == 0) & ~np.isnan(b), 0.0, a * np.log(b))


def erfinv(x: Array) -> Array:
    """The inverse error function, by bisection."""

    def one(y: float) -> float:
        if not abs(y) < 1:
            return y * math.inf if abs(y) == 1 else math.nan
        low, high = -6.0, 6.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if math.erf(middle) < y else (low, middle)
        return (low + high) / 2

    return _each(one, x)


def lgamma(x: Array) -> Array:
    """log(|gamma(x)|), infinite at the poles."""

    def one(v: float) -> float:
        pole = v <= 0 and v == np.floor(v)
        return math.inf if pole else math.lgamma(v)

    return _each(one, x)


def digamma(x: Array) -> Array:
    """The derivative of lgamma: reflection, recurrence up to x ≥ 30, then the asymptotic series."""

    def one(v: float) -> float:
        if v == 0:
            return -math.copysign(math.inf, v)
        if math.isnan(v) or v == -math.inf or (v < 0 and v == np.floor(v)):
            return math.nan
        if v < 0:  # reflection
            return one(1 - v) - math.pi / math.tan(math.pi * (v - round(v)))
        total = 0.0
        while v < 30:
            total -= 1 / v
            v += 1
        tail = sum(b / v**k for k, b in ((2, 1 / 12), (4, -1 / 120), (6, 1 / 252), (8, -1 / 240)))
        return total + math.log(v) - 1 / (2 * v) - tail

    return _each(one, x)
