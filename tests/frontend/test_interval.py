"""Interval arithmetic, compared with exhaustive evaluation."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import inf
from operator import add, mul, sub

import numpy as np
import pytest
from spirloom.interval import EVERYTHING, Interval, of_array, of_type

INTERVALS = [Interval(a, b) for a, b in ((-3, 4), (2, 5), (-4, -2), (0, 0), (0, 3))]
BINARY: list[Callable[[Interval, Interval], Interval]] = [add, sub, mul]


@pytest.mark.parametrize("function", BINARY)
def test_results_are_exactly_bounded(function: Callable[[Interval, Interval], Interval]) -> None:
    for a, b in product(INTERVALS, INTERVALS):
        values = [
            function(Interval(x, x), Interval(y, y)).low
            for x in range(int(a.low), int(a.high) + 1)
            for y in range(int(b.low), int(b.high) + 1)
        ]
        assert function(a, b) == Interval(min(values), max(values))


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
