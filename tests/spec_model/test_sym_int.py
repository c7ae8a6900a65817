"""The operators of symbolic integers, compared with those of `int` at every size.

Bools and floats on the left of an operator read the value in C, which nothing detects.
"""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from spec_model.symbolic import (
    Guards,
    SizeError,
    Symbol,
    SymInt,
    Undecided,
    at_sizes,
    general,
    strict,
    sym,
)

N, M = Symbol("n", 1, 4), Symbol("m", 2, 3)
POINTS = [{"n": n, "m": m} for n, m in product(range(1, 5), range(2, 4))]
n, m = sym(N), sym(M)
SYMBOLIC = [n, m, n + 1, n - 2, 2 * m - n, -n, n * m, n // 2, n % 3]
INTS = [*SYMBOLIC, -3, -1, 0, 1, 2, 5]
PAIRS = [(a, b) for a, b in product(INTS, INTS) if SymInt in (type(a), type(b))]
FLOATS = [-2.5, -1.0, 0.0, 0.5, 1.0, 2.0, 2.5, 3.5, 4.0, 4.5, math.inf, -math.inf, math.nan]
RELATIONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
Function = Callable[..., Any]


def values_of(function: Function, *args: Any) -> list[Any]:
    """The values for plain ints at each size; None for a division by zero."""
    found = []
    for point in POINTS:
        try:
            found.append(function(*(at_sizes(arg, point) for arg in args)))
        except ZeroDivisionError:
            found.append(None)
    return found


def at(value: Any, point: dict[str, int]) -> Any:
    return (
        tuple(at_sizes(v, point) for v in value) if type(value) is tuple else at_sizes(value, point)
    )


@pytest.mark.parametrize("function", [operator.add, operator.sub, operator.mul, operator.floordiv,
                                      operator.mod, divmod])  # fmt: skip
def test_arithmetic(function: Function) -> None:
    """Divisors are refused that may be less than 1, but for negative constants."""
    divides = function in (operator.floordiv, operator.mod, divmod)
    for a, b in PAIRS:
        divisors = [at_sizes(b, point) for point in POINTS]
        is_refused = divides and min(divisors) < 1 and isinstance(b, SymInt)
        with strict():
            if divides and type(b) is int and b == 0:
                with pytest.raises(ZeroDivisionError) as error:
                    function(a, b)
                assert str(error.value) in (f"{a} // 0", f"{a} % 0")
            elif is_refused:
                with pytest.raises(SizeError, match="the divisor may be less than 1"):
                    function(a, b)
            else:
                found = function(a, b)
                assert [at(found, point) for point in POINTS] == values_of(function, a, b), (a, b)


def test_a_refused_divisor_has_a_guard() -> None:
    with strict(), pytest.raises(SizeError) as error:
        _ = 7 // (n - 1)
    assert str(error.value.guard) == "n - 2 >= 0"  # type: ignore[attr-defined]


UNARY: list[Function] = [operator.neg, operator.pos, abs, round, math.floor, math.ceil, math.trunc,
                         lambda a: round(a, 0), lambda a: a**0, lambda a: a**1, lambda a: a**3,
                         lambda a: a**16 if a is n else a]  # fmt: skip


@pytest.mark.parametrize("function", UNARY)
def test_functions_of_one(function: Function) -> None:
    for a in SYMBOLIC:
        with strict():
            found = function(a)
        expected = [int(function(at_sizes(a, point))) for point in POINTS]
        if function is not UNARY[-1] or a is n:
            expected = [at_sizes(a, p) ** 16 for p in POINTS] if function is UNARY[-1] else expected
            assert [at_sizes(found, point) for point in POINTS] == expected, str(a)


@pytest.mark.parametrize("relation", RELATIONS)
def test_comparisons(relation: Function) -> None:
    """What holds at all sizes is decided. Otherwise strict code refuses; importers assume that
    sizes are unequal, or have the relation of the maxima."""
    largest = POINTS.index({"n": N.max, "m": M.max})
    for a, b in [*PAIRS, *product(SYMBOLIC, FLOATS)]:
        a_values = [at_sizes(a, point) if isinstance(a, int) else a for point in POINTS]
        b_values = [at_sizes(b, point) if isinstance(b, int) else b for point in POINTS]
        outcomes = [relation(x, y) for x, y in zip(a_values, b_values, strict=True)]
        with general(Guards()) as guards:
            assumed = relation(a, b)
        if len({*outcomes}) == 1:
            with strict():
                assert relation(a, b) is outcomes[0], (str(a), b)
            assert assumed is outcomes[0] and not guards.assumed
        elif relation in (operator.eq, operator.ne):
            assert assumed is (relation is operator.ne) and not guards.assumed
            with strict():
                if isinstance(a, int) and isinstance(b, int):
                    with pytest.raises(Undecided):
                        relation(a, b)
        else:
            assert assumed is outcomes[largest], (str(a), b)
            assert len(guards.assumed) == 1
            with strict(), pytest.raises(Undecided):
                relation(a, b)


def test_other_types() -> None:
    for other in ("n", None):
        assert operator.ne(n, other) and not operator.eq(n, other)
    for function in (operator.add, operator.floordiv, operator.lt):
        with pytest.raises(TypeError):
            function(n, "n")


def test_truth() -> None:
    for a in SYMBOLIC:
        outcomes = {*map(bool, values_of(operator.pos, a))}
        if len(outcomes) == 1:
            assert {bool(a)} == outcomes
        else:
            with strict(), pytest.raises(Undecided):
                bool(a)


BY_VALUE: list[Function] = [
    lambda a: a & 6, lambda a: 6 & a, lambda a: a | 8, lambda a: 8 | a, lambda a: a ^ 3,
    lambda a: 3 ^ a, lambda a: a << 2, lambda a: 2 << a, lambda a: a >> 1, lambda a: 40 >> a,
    lambda a: ~a, lambda a: a.bit_length(), lambda a: a.bit_count(), float, int,
    lambda a: a / 8, lambda a: 8 / a, lambda a: a + 0.5, lambda a: a - 0.5, lambda a: a * 1.5,
    lambda a: a // 1.5, lambda a: a % 1.5, lambda a: a**0.5, lambda a: pow(a, 2, 3),
    lambda a: a**-1, lambda a: a**17, lambda a: a.to_bytes(2, "big"), lambda a: a & a,
]  # fmt: skip


@pytest.mark.parametrize("function", BY_VALUE)
def test_operations_of_the_value(function: Function) -> None:
    """The value at the maximum sizes, which is recorded."""
    with general(Guards()) as guards:
        assert function(n) == function(N.max)
        assert type(function(n)) is type(function(N.max))
    assert {str(guard) for guard in guards.assumed} == {"n - 4 == 0"}
    with strict(), pytest.raises(Undecided, match=r"^The (integer|float) value of n is not supp"):
        function(n)


def test_identity() -> None:
    assert copy.copy(n) is n and copy.deepcopy([n])[0] is n
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(n)
    assert hash(n + 1) == hash(1 + n) and {n + 1: 2}[1 + n] == 2
    assert type(n - n) is int and type(n * 0 + 3) is int
    assert f"{n:>4}|{n!r}|{n!s}" == "   n|n|n"
