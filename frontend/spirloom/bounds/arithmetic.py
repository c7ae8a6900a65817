"""Interval arithmetic of operators that any front end has."""

from __future__ import annotations

from math import isfinite

from spirloom.interval import EVERYTHING, Interval, corners


def cast_to_whole(x: Interval) -> Interval:
    """Fractions are cut off. The bounds go outwards, as a device may round a number over."""
    return x if x.whole else Interval(x.floored().low, -(-x).floored().low)


def quotient(a: Interval, b: Interval) -> Interval:
    """Of whole numbers, towards zero: no further from it than the dividend, or its negative."""
    if not (a.whole and b.whole):
        return EVERYTHING
    if b.low < 1:
        return a | -a
    return corners(_toward_zero, a, b, whole=True)


def _toward_zero(a: float, b: float) -> float:
    """a / b for whole b > 0, its fraction cut off."""
    if not isfinite(a) or not isfinite(b):
        return a
    return -(-a // b) if a < 0 else a // b


def rest(a: Interval, b: Interval, like_dividend: bool) -> Interval:
    """Of a division of whole numbers; its sign is the divisor's, or the dividend's."""
    if not (a.whole and b.whole):
        return EVERYTHING
    most = abs(b).high - 1
    signed = a if like_dividend else b
    return Interval(-most, most).clamped(min(signed.low, 0), max(signed.high, 0))


def power(base: Interval, exponent: Interval) -> Interval:
    """Of small whole numbers."""
    small = abs(base).high < 1 << 31 and exponent.low >= 0 and exponent.high < 64
    if not (base.whole and exponent.whole and small):
        return EVERYTHING
    high = max(abs(base).high, 1) ** exponent.high
    return Interval(0 if base.low >= 0 else -high, high)


def shifted(x: Interval, by: Interval, left: bool) -> Interval:
    """Of unsigned numbers; to the left, what leaves the type shows in the bounds."""
    if not by.within(Interval(0, 63)):
        return EVERYTHING
    factor = Interval(2 ** int(by.low), 2 ** int(by.high))
    return x * factor if left else corners(_toward_zero, x, factor, whole=True)


def sign(x: Interval) -> Interval:
    """-1, 0 or 1."""
    return x.clamped(-1, 1) if x.whole else Interval(-1, 1)


def rounded(x: Interval) -> Interval:
    """To whole numbers, either way."""
    return Interval(x.floored().low, -(-x).floored().low)


def greatest(*x: Interval) -> Interval:
    """Of the maximum of numbers."""
    return Interval(max(i.low for i in x), max(i.high for i in x), all(i.whole for i in x))


def least(*x: Interval) -> Interval:
    """Of the minimum of numbers."""
    return Interval(min(i.low for i in x), min(i.high for i in x), all(i.whole for i in x))


def below(size: int) -> Interval:
    """Places of a dimension."""
    return Interval(0, max(size - 1, 0))
