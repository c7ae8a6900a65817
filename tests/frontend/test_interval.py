"""Interval arithmetic, compared with NumPy's operators on all integers of intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations_with_replacement, product
from math import inf

import numpy as np
import pytest
from numpy.typing import NDArray

from spec_model import interval
from spec_model.interval import EVERYTHING, Interval, of_array, of_type

Integers = NDArray[np.int64]
ENDS = (-9, -4, -1, 0, 1, 3, 8)
INTERVALS = [Interval(low, high) for low, high in combinations_with_replacement(ENDS, 2)]
# By name: the bounds of the results, the operator, the intervals of its second operand, and whether
# the bounds are exact.
Case = tuple[Callable[..., Interval], Callable[..., Integers], Callable[[Interval], bool], bool]


def _any(b: Interval) -> bool:
    return True


def _divisor(b: Interval) -> bool:
    """Division by 0 has no result."""
    return b != Interval(0, 0)


def _distance(b: Interval) -> bool:
    return b.low >= 0


def _truncated(a: Integers, b: Integers) -> Integers:
    return np.trunc(a / b).astype(np.int64)


BINARY: dict[str, Case] = {
    "add": (Interval.__add__, np.add, _any, True),
    "sub": (Interval.__sub__, np.subtract, _any, True),
    "mul": (Interval.__mul__, np.multiply, _any, True),
    "maximum": (interval.maximum, np.maximum, _any, True),
    "minimum": (interval.minimum, np.minimum, _any, True),
    "truncated": (partial(interval.quotient, floors=False), _truncated, _divisor, False),
    "floored": (partial(interval.quotient, floors=True), np.floor_divide, _divisor, False),
    "fmod": (partial(interval.remainder, like_dividend=True), np.fmod, _divisor, False),
    "remainder": (partial(interval.remainder, like_dividend=False), np.remainder, _divisor, False),
    "power": (interval.power, np.power, _distance, False),
    "left shift": (partial(interval.shifted, left=True), np.left_shift, _distance, True),
    "right shift": (partial(interval.shifted, left=False), np.right_shift, _distance, True),
}


def _integers(x: Interval) -> Integers:
    return np.arange(x.low, x.high + 1, dtype=np.int64)


@pytest.mark.parametrize("name", BINARY)
def test_results_of_two_integers_are_bounded(name: str) -> None:
    bounds, operator, accepts, exact = BINARY[name]
    for a, b in product(INTERVALS, filter(accepts, INTERVALS)):
        second = _integers(b)
        if accepts is _divisor:
            second = second[second != 0]
        values = operator(_integers(a)[:, None], second[None, :])
        found, true = bounds(a, b), Interval(values.min().item(), values.max().item())
        assert found.low <= true.low and true.high <= found.high and found.integral, (a, b)
        if exact or (name in ("truncated", "floored") and b.low > 0):
            assert found == true, (a, b)


@pytest.mark.parametrize("name", ["fmod", "remainder"])
def test_remainders_are_less_than_the_divisor(name: str) -> None:
    """And than the operand whose sign they have."""
    bounds, _, accepts, _ = BINARY[name]
    for a, b in product(INTERVALS, filter(accepts, INTERVALS)):
        signed, found = _integers(a if name == "fmod" else b), bounds(a, b)
        limit = np.abs(_integers(b)).max() - 1
        assert max(-limit, min(signed.min(), 0)) <= found.low, (a, b)
        assert found.high <= min(limit, max(signed.max(), 0)), (a, b)


def test_powers_are_at_most_the_largest_magnitude() -> None:
    for a, b in product(INTERVALS, filter(_distance, INTERVALS)):
        largest = max(1, np.abs(np.power(_integers(a)[:, None], _integers(b)[None, :])).max())
        found = interval.power(a, b)
        assert (0 if a.low >= 0 else -largest) <= found.low and found.high <= largest, (a, b)


@pytest.mark.parametrize("operator", [np.bitwise_and, np.bitwise_or, np.bitwise_xor])
def test_bits_are_those_of_the_wider_operand(operator: Callable[..., Integers]) -> None:
    for a, b in product(INTERVALS, INTERVALS):
        values, found = operator(_integers(a)[:, None], _integers(b)[None, :]), interval.bits(a, b)
        assert found.low <= values.min() and values.max() <= found.high and found.integral
        formats = [Interval(0, 2**k - 1) for k in range(6)]  # without a sign, else with one
        signed = [Interval(-(2**k), 2**k - 1) for k in range(6)]
        lows, highs = zip((a.low, a.high), (b.low, b.high), strict=True)
        fits = (each for each in (*formats, *signed)
                if each.low <= min(lows) and max(highs) <= each.high)  # fmt: skip
        assert found == next(fits), (a, b)


def test_what_arithmetic_of_integers_does_not_bound() -> None:
    half, some, large = Interval(0.5, 2.5, integral=False), Interval(1, 3), Interval(0, 1e300)
    operations: list[Callable[[Interval, Interval], Interval]] = [
        interval.power, interval.bits,
        *(partial(interval.quotient, floors=floors) for floors in (False, True)),
        *(partial(interval.remainder, like_dividend=like) for like in (False, True)),
    ]  # fmt: skip
    for operation in operations:
        assert operation(half, some) == operation(some, half) == EVERYTHING
        assert operation(some, some) != EVERYTHING
    assert interval.power(some, Interval(-1, 2)) == EVERYTHING
    assert interval.power(large, some) == interval.power(some, large) == EVERYTHING
    for end in (-inf, inf):
        unbounded = Interval(min(end, 0), max(end, 0))
        assert interval.bits(unbounded, some) == interval.bits(some, unbounded) == EVERYTHING
    for left in (False, True):
        assert interval.shifted(some, Interval(0, 63), left) != EVERYTHING
        for by in (Interval(0, 64), Interval(-1, 2), half):
            assert interval.shifted(some, by, left) == EVERYTHING


def test_division_by_unbounded_divisors() -> None:
    for floors, low in ((False, 0), (True, -1)):
        for first in (0, 5):
            assert interval.quotient(Interval(first, 7), Interval(2, inf), floors) == Interval(0, 3)
        assert interval.quotient(Interval(-7, -7), Interval(8, inf), floors) == Interval(low, low)


def test_division_by_zero_only() -> None:
    for like_dividend in (False, True):
        bounds = interval.remainder(Interval(0, 5), Interval(0, 0), like_dividend)
        assert bounds.low <= bounds.high


UNARY: dict[str, tuple[Callable[[Interval], Interval], Callable[[float], float]]] = {
    "floored": (Interval.floored, np.floor),
    "ceiled": (Interval.ceiled, np.ceil),
    "round": (interval.rounded, np.rint),
    "trunc": (interval.rounded, np.trunc),
    "round up": (interval.rounded, np.ceil),
    "abs": (abs, np.abs),
    "neg": (Interval.__neg__, np.negative),
    "square": (interval.square, np.square),
    "sign": (interval.sign, np.sign),
}


@pytest.mark.parametrize("name", UNARY)
def test_results_of_one_number_are_bounded(name: str) -> None:
    bounds, operator = UNARY[name]
    ends = (-7.5, -3.0, -0.25, 0.0, 0.5, 2.0, 6.75)
    for low, high in combinations_with_replacement(ends, 2):
        x = Interval(low, high, integral=False)
        values = [float(operator(value)) for value in np.linspace(low, high, 97)]
        found = bounds(x)
        assert found.low <= min(values) and max(values) <= found.high, x
        assert found.low >= min(values) - 1 and found.high <= max(values) + 1, x  # not too wide


def _contains(x: Interval, y: Interval) -> bool:
    """Whether x contains all multiples of 1/2, or integers, that y contains."""
    values = [set(np.arange(i.low, i.high + 0.5, 1 if i.integral else 0.5)) for i in (x, y)]
    return values[0] >= values[1]


def test_containment_and_unions() -> None:
    each = [Interval(i.low, i.high, kind) for i in INTERVALS for kind in (False, True)
            if kind or i.low < i.high]  # fmt: skip
    for a, b in product(each, each):
        assert a.within(b) == _contains(b, a), (a, b)
        union = a | b
        assert _contains(union, a) and _contains(union, b)
        assert {union.low, union.high} <= {a.low, a.high, b.low, b.high}
        assert union.integral == (a.integral and b.integral)
    parts = [Interval(-3, 1), Interval(4, 6), Interval(-1, 2.5, integral=False)]
    assert interval.hull(parts) == Interval(-3, 6, integral=False)


def test_clamped_and_absolute_values() -> None:
    assert abs(Interval(-3, 1)) == Interval(0, 3)
    assert abs(Interval(-5, -2)) == Interval(2, 5)
    assert Interval(-9, 9).clamped(low=0, high=4) == Interval(0, 4)
    assert Interval(-9, 9).clamped(low=0) == Interval(0, 9)
    assert Interval(-9, 9).clamped(high=4) == Interval(-9, 4)
    assert Interval(-9, -7).clamped(low=0) == Interval(0, 0)
    assert Interval(-1.5, 2.5, integral=False).floored() == Interval(-2, 2)


def test_infinite_bounds() -> None:
    assert EVERYTHING * Interval(0, 0) == Interval(0, 0, integral=False)
    assert EVERYTHING + Interval(1, 2) == EVERYTHING
    assert EVERYTHING.floored() == Interval(-inf, inf)


def test_integers_and_reals_are_distinguished() -> None:
    assert Interval(1, 2).within(Interval(0, 3, integral=False))
    assert not Interval(1, 2, integral=False).within(Interval(0, 3))
    assert of_array(np.array([1.0, -2.0])) == Interval(-2, 1)
    assert of_array(np.array([0.5, 2.0])) == Interval(0.5, 2, integral=False)
    assert of_array(np.array([1.0, np.nan])) == EVERYTHING
    assert of_array(np.array([1.0, np.inf])) == EVERYTHING
    assert of_array(np.array([1.0, -np.inf])) == EVERYTHING
    assert of_array(np.array([False, True])) == Interval(0, 1)
    assert of_array(np.array([1j])) == EVERYTHING
    assert of_array(np.array([], np.int64)) == Interval(0, 0)
    assert of_type(np.dtype(np.float32)) == EVERYTHING
    assert of_type(np.dtype(bool)) == Interval(0, 1)
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64):
        limits = np.iinfo(dtype)
        assert of_type(np.dtype(dtype)) == Interval(int(limits.min), int(limits.max))


def test_the_text_of_an_interval() -> None:
    assert str(Interval(-128, 127)) == "-128..127"
    assert str(Interval(-2147483648.0, 2147483648.0)) == "-2147483648..2147483648"
    assert str(Interval(-0.5, 2.0, integral=False)) == "-0.5..2.0"
    assert str(EVERYTHING) == "-inf..inf"


@pytest.mark.parametrize("integral", list(product([False, True], repeat=2)))
def test_from_the_first_value_to_the_last(integral: tuple[bool, bool]) -> None:
    low, high = Interval(1, 3, integral[0]), Interval(5, 9, integral[1])
    assert interval.between(low, high) == Interval(1, 9, all(integral))
    assert interval.between(high, low) == Interval(5, 5, all(integral))
    assert interval.reals(low, high) == Interval(1, 9, integral=False)
    assert interval.reals(high, low) == Interval(5, 5, integral=False)


def _floats(dtype: str) -> NDArray[np.floating]:
    """Finite floats in ascending order: all of 16 bits, others around many magnitudes."""
    if dtype == "f16":
        every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
        return np.unique(every[np.isfinite(every)])
    largest = np.finfo(np.float32).max
    some = np.geomspace(1e-45, largest, 500).astype(np.float32)
    near = np.concatenate([some, np.nextafter(some, np.float32(0))])
    return np.unique(np.concatenate([-near, [0], near, [largest, -largest]]).astype(np.float32))


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_ends_are_rounded_outward(dtype: str) -> None:
    """To the floats next to them, of which NumPy knows the neighbours."""
    floats = _floats(dtype)
    up = np.nextafter(floats[:-1], floats.dtype.type(np.inf)).astype(np.float64)
    for low, high in zip(floats.astype(np.float64)[:-1].tolist(), up.tolist(), strict=True):
        for value in ((low + high) / 2, low + (high - low) / 64, high - (high - low) / 64):
            found = interval.stored(Interval(value, value, integral=False), dtype)
            assert found == Interval(low, high, integral=False)
        exact = Interval(low, low, integral=False)
        assert interval.stored(exact, dtype) == exact
    largest = float(floats[-1])
    beyond = interval.stored(Interval(-2 * largest, 2 * largest), dtype)
    assert beyond == Interval(-inf, inf)
    assert interval.stored(Interval(2 * largest, inf), dtype) == Interval(largest, inf)
    assert interval.stored(Interval(-inf, -2 * largest), dtype) == Interval(-inf, -largest)
    assert interval.stored(Interval(-3, 1 << 30), "i32") == Interval(-3, 1 << 30)


def test_indices() -> None:
    for size in range(4):
        assert _integers(interval.indices_of(size)).tolist() == list(range(max(size, 1)))
    assert interval.exactly(2) == Interval(2, 2)
    assert interval.exactly(2.5) == Interval(2.5, 2.5, integral=False)
