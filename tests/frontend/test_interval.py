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
    return not b.low <= 0 <= b.high


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
        values = operator(_integers(a)[:, None], _integers(b)[None, :])
        found, true = bounds(a, b), Interval(values.min().item(), values.max().item())
        assert true.within(found), (a, b)
        if exact or (name in ("truncated", "floored") and b.low > 0):
            assert found == true, (a, b)


def test_division_by_unbounded_divisors() -> None:
    for floors, low in ((False, 0), (True, -1)):
        assert interval.quotient(Interval(5, 7), Interval(2, inf), floors) == Interval(0, 3)
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


def test_unions_and_absolute_values() -> None:
    assert Interval(-3, 1) | Interval(4, 6) == Interval(-3, 6)
    assert abs(Interval(-3, 1)) == Interval(0, 3)
    assert abs(Interval(-5, -2)) == Interval(2, 5)
    assert Interval(-9, 9).clamped(low=0, high=4) == Interval(0, 4)
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
    assert of_array(np.array([], np.int64)) == Interval(0, 0)
    assert of_type(np.dtype(np.int8)) == Interval(-128, 127)
    assert of_type(np.dtype(np.float32)) == EVERYTHING


def test_the_text_of_an_interval() -> None:
    assert str(Interval(-128, 127)) == "-128..127"
    assert str(Interval(-2147483648.0, 2147483648.0)) == "-2147483648..2147483648"
    assert str(Interval(-0.5, 2.0, integral=False)) == "-0.5..2.0"
    assert str(EVERYTHING) == "-inf..inf"
