"""Intervals of numbers, and what arithmetic makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import floor, inf, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers from low to high, both included; `whole`: only whole numbers among them."""

    low: float
    high: float
    whole: bool = True

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"

    def within(self, other: Interval) -> bool:
        """Whether the other interval has all of these numbers."""
        fits = other.low <= self.low and self.high <= other.high
        return fits and (self.whole or not other.whole)

    def __or__(self, other: Interval) -> Interval:
        """The least interval with the numbers of both."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Interval(low, high, self.whole and other.whole)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high, self.whole and other.whole)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.whole)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        return corners(_product, self, other, self.whole and other.whole)

    def __abs__(self) -> Interval:
        least = 0 if self.low <= 0 <= self.high else min(abs(self.low), abs(self.high))
        return Interval(least, max(abs(self.low), abs(self.high)), self.whole)

    def floored(self) -> Interval:
        """Its numbers, rounded down."""
        return self if self.whole else Interval(_floor(self.low), _floor(self.high))

    def clamped(self, low: float = -inf, high: float = inf) -> Interval:
        """Its numbers, those below and above brought to the limits."""
        first, last = (min(max(end, low), high) for end in (self.low, self.high))
        return Interval(first, last, self.whole)


EVERYTHING = Interval(-inf, inf, whole=False)


def corners(
    function: Callable[[float, float], float], a: Interval, b: Interval, whole: bool
) -> Interval:
    """The image of a function of two numbers that is extreme at ends of intervals."""
    ends = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(ends), max(ends), whole)


def hull(intervals: Iterable[Interval]) -> Interval:
    """The least interval with the numbers of all; at least one is given."""
    first, *others = intervals
    for other in others:
        first = first | other
    return first


def of_array(values: npt.NDArray[Any]) -> Interval:
    """The numbers of an array; one that is not finite makes it everything."""
    if values.dtype.kind not in "biuf":
        return EVERYTHING
    if not values.size:
        return Interval(0, 0)
    low, high = values.min().item(), values.max().item()
    if not (isfinite(low) and isfinite(high)):
        return EVERYTHING
    whole = values.dtype.kind != "f" or bool((np.trunc(values) == values).all())
    return Interval(low, high, whole)


def of_type(dtype: np.dtype[Any]) -> Interval:
    """All numbers of a type."""
    if dtype.kind == "b":
        return Interval(0, 1)
    if dtype.kind not in "iu":
        return EVERYTHING
    limits = np.iinfo(dtype)
    return Interval(int(limits.min), int(limits.max))


def _product(a: float, b: float) -> float:
    """0 times infinity is 0, the limit that bounds what finite numbers give."""
    return 0 if 0 in (a, b) else a * b


def _floor(end: float) -> float:
    return floor(end) if isfinite(end) else end
