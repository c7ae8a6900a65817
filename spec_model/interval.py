"""Intervals of values, and their arithmetic, of which specs state the bounds of results."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import floor, inf, isfinite, isinf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Interval:
    """The values from low to high, both included. `integral`: only integers."""

    low: float
    high: float
    integral: bool = True

    def __str__(self) -> str:
        """Example: 0..255. Bounds of integers have no fraction, also after arithmetic in floats."""
        return f"{self._end(self.low)}..{self._end(self.high)}"

    def _end(self, value: float) -> float:
        return int(value) if self.integral and isfinite(value) else value

    def within(self, other: Interval) -> bool:
        """Whether the other interval contains all of these values."""
        fits = other.low <= self.low and self.high <= other.high
        return fits and (self.integral or not other.integral)

    def __or__(self, other: Interval) -> Interval:
        """The smallest interval that contains both."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Interval(low, high, self.integral and other.integral)

    def __add__(self, other: Interval) -> Interval:
        return Interval(
            self.low + other.low, self.high + other.high, self.integral and other.integral
        )

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.integral)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        return corners(_product, self, other, self.integral and other.integral)

    def __abs__(self) -> Interval:
        return Interval(max(self.low, -self.high, 0), max(-self.low, self.high), self.integral)

    def floored(self) -> Interval:
        """Its values, rounded down."""
        return self if self.integral else Interval(_floor(self.low), _floor(self.high))

    def ceiled(self) -> Interval:
        """Its values, rounded up."""
        return -(-self).floored()

    def clamped(self, low: float = -inf, high: float = inf) -> Interval:
        """Its values, clamped to the limits."""
        first, last = (min(max(end, low), high) for end in (self.low, self.high))
        return Interval(first, last, self.integral)


# Limits of effort for powers.
_MAX_BASE, _MAX_EXPONENT = 1 << 31, 64

EVERYTHING = Interval(-inf, inf, integral=False)


def corners(
    function: Callable[[float, float], float], a: Interval, b: Interval, integral: bool
) -> Interval:
    """The image of a function of two values that is monotonic in each."""
    ends = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(ends), max(ends), integral)


def hull(intervals: Iterable[Interval]) -> Interval:
    """The smallest interval that contains all of them (at least one)."""
    first, *others = intervals
    for other in others:
        first = first | other
    return first


def of_array(values: npt.NDArray[Any]) -> Interval:
    """The range of an array's elements. Unbounded if an element is not finite."""
    if values.dtype.kind not in "biuf":
        return EVERYTHING
    if not values.size:
        return Interval(0, 0)
    low, high = (+end.item() for end in (values.min(), values.max()))  # bools as ints
    if not (isfinite(low) and isfinite(high)):
        return EVERYTHING
    integral = values.dtype.kind != "f" or bool((values % 1 == 0).all())
    return Interval(low, high, integral)


def of_type(dtype: np.dtype[Any]) -> Interval:
    """All values of a dtype."""
    if dtype.kind == "b":
        return Interval(0, 1)
    if dtype.kind not in "iu":
        return EVERYTHING
    count = 1 << 8 * dtype.itemsize
    return Interval(0, count - 1) if dtype.kind == "u" else Interval(-count // 2, count // 2 - 1)


def exactly(value: float) -> Interval:
    """A number alone."""
    return Interval(value, value, float(value).is_integer())


def between(low: Interval, high: Interval) -> Interval:
    """From the first to the last value; integers if both ends are."""
    return Interval(low.low, max(low.low, high.high), low.integral and high.integral)


def reals(low: Interval, high: Interval) -> Interval:
    """All numbers from the first to the last value."""
    return replace(between(low, high), integral=False)


# Formats of struct: nearest value, and its bits.
_FORMATS = {"f32": ("f", "i"), "f16": ("e", "h")}


def stored(x: Interval, dtype: str) -> Interval:
    """The values as floats of a dtype: other ends are replaced by the next value outside. Results
    of operations that round correctly are within, as rounding is monotonic."""
    if dtype not in _FORMATS:
        return x
    return Interval(-_next_float(-x.low, dtype), _next_float(x.high, dtype), x.integral)


def _next_float(value: float, dtype: str) -> float:
    """The smallest float of the dtype that is at least the value."""
    form, bits = _FORMATS[dtype]
    if isinf(value):
        return value
    try:
        code = struct.pack(form, float(value))
    except OverflowError:
        return inf if value > 0 else -_largest(dtype)
    (nearest,) = struct.unpack(form, code)
    if nearest >= value:
        return float(nearest)
    (integer,) = struct.unpack(bits, code)  # toward positive infinity
    (above,) = struct.unpack(form, struct.pack(bits, integer + 1 if nearest >= 0 else integer - 1))
    return float(above)


def _largest(dtype: str) -> float:
    return 65504.0 if dtype == "f16" else float.fromhex("0x1.fffffep127")


def _product(a: float, b: float) -> float:
    """A product in which 0 · infinity is 0, the bound for finite factors."""
    return 0 if 0 in (a, b) else a * b


def _floor(end: float) -> float:
    return floor(end) if isfinite(end) else end


def quotient(a: Interval, b: Interval, floors: bool) -> Interval:
    """Integer division that rounds down or toward zero. Its magnitude is at most that of the
    dividend.
    """
    if not (a.integral and b.integral):
        return EVERYTHING
    if b.low < 1:
        return a | -a
    return corners(_rounded_down if floors else _toward_zero, a, b, integral=True)


def _rounded_down(a: float, b: float) -> float:
    """a / b for an integer b > 0, rounded down; for an infinite b, its limit."""
    if not isfinite(b):
        return -1 if a < 0 else 0
    return a // b if isfinite(a) else a


def _toward_zero(a: float, b: float) -> float:
    """a / b for an integer b > 0, truncated."""
    return -_rounded_down(-a, b) if a < 0 else _rounded_down(a, b)


def remainder(a: Interval, b: Interval, like_dividend: bool) -> Interval:
    """The remainder of an integer division, with the sign of the divisor or of the dividend."""
    if not (a.integral and b.integral):
        return EVERYTHING
    limit = max(abs(b).high - 1, 0)
    signed = a if like_dividend else b
    return Interval(-limit, limit).clamped(min(signed.low, 0), max(signed.high, 0))


def power(base: Interval, exponent: Interval) -> Interval:
    """A power of small integers."""
    small = abs(base).high < _MAX_BASE and exponent.high < _MAX_EXPONENT
    if not (base.integral and exponent.integral and small) or exponent.low < 0:
        return EVERYTHING
    high = max(abs(base).high, 1) ** exponent.high
    return Interval(0 if base.low >= 0 else -high, high)


def shifted(x: Interval, by: Interval, left: bool) -> Interval:
    """An arithmetic shift. A left shift that overflows the dtype shows in the bounds."""
    if not by.within(Interval(0, 63)):
        return EVERYTHING
    factor = Interval(2 ** int(by.low), 2 ** int(by.high))
    return x * factor if left else quotient(x, factor, floors=True)


def square(x: Interval) -> Interval:
    """The square of a value."""
    return abs(x) * abs(x)


def sign(x: Interval) -> Interval:
    """The sign: -1, 0 or 1."""
    low, high = ((end > 0) - (end < 0) for end in (x.low, x.high))
    return Interval(low, high)


def rounded(x: Interval) -> Interval:
    """Rounded to integers in either direction: a device may round a value across an integer."""
    return Interval(x.floored().low, x.ceiled().high)


def maximum(*x: Interval) -> Interval:
    """The maximum of values."""
    return Interval(max(i.low for i in x), max(i.high for i in x), all(i.integral for i in x))


def minimum(*x: Interval) -> Interval:
    """The minimum of values."""
    return Interval(min(i.low for i in x), min(i.high for i in x), all(i.integral for i in x))


def bits(a: Interval, b: Interval) -> Interval:
    """Bitwise and, or, xor: the results fit in the bits of the wider operand."""
    ends = (a.low, a.high, b.low, b.high)
    if not (a.integral and b.integral and all(map(isfinite, ends))):
        return EVERYTHING
    power = 1 << max(int(max(end, -end - 1)).bit_length() for end in ends)
    return Interval(-power if min(ends) < 0 else 0, power - 1)


def indices_of(size: int) -> Interval:
    """The valid indices of a dimension."""
    return Interval(0, max(size - 1, 0))
