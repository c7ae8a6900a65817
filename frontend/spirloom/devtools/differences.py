"""How far one array is from another: the numbers of `spirloom compare`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spirloom.ir import Array


@dataclass(frozen=True, slots=True)
class Difference:
    """How far `b` is from `a`, which counts as exact. NaN: one of the figures has no value."""

    name: str
    greatest: float  # max |a - b|
    relative: float  # ‖a - b‖ / ‖a‖
    sqnr: float  # 10 log₁₀ (Σ a² / Σ (a - b)²), in dB; inf where all are equal
    cosine: float  # of the angle between the two


def difference(name: str, a: Array, b: Array) -> Difference:
    """The figures, in double precision, of two arrays of one shape: any numbers or booleans.

    Places at which both hold the same are no difference, infinities and NaNs too; any other
    infinity or NaN makes `greatest` infinite and `sqnr` minus infinity.
    """
    if a.shape != b.shape:
        raise ValueError(f"{name}: {a.shape} and {b.shape} are not one shape")
    x, y = (np.asarray(array, np.float64).ravel() for array in (a, b))
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    finite = np.isfinite(x) & np.isfinite(y)
    if not np.all(same | finite):
        return Difference(name, math.inf, math.inf, -math.inf, math.nan)
    x, y = x[finite], y[finite]
    error = np.abs(x - y)
    greatest = float(error.max(initial=0.0))
    # Scaled, so that no square leaves the range of a double.
    scale = float(max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0))) or 1.0
    signal, noise = (float(np.linalg.norm(array / scale)) for array in (x, error))
    other = float(np.linalg.norm(y / scale))
    return Difference(name, greatest, _ratio(noise, signal), _decibels(signal, noise),
                      _cosine(float(np.dot(x / scale, y / scale)), signal, other))  # fmt: skip


def _ratio(noise: float, signal: float) -> float:
    if noise == 0.0:
        return 0.0
    return noise / signal if signal else math.inf


def _decibels(signal: float, noise: float) -> float:
    if noise == 0.0:
        return math.inf
    return 20.0 * math.log10(signal / noise) if signal else -math.inf


def _cosine(product: float, one: float, other: float) -> float:
    if one == 0.0 and other == 0.0:
        return 1.0
    return min(1.0, max(-1.0, product / (one * other))) if one and other else 0.0
