"""Numbers that depend on sizes, compared with Python's at every size: values, bounds, stored forms,
truncation."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from spirloom.errors import Unsupported
from spirloom.number_expr import (
    FORMULAS,
    MAX_OPERATIONS,
    NumberExpr,
    NumberOp,
    SymFloat,
    computed,
    from_expr,
    number_of,
    stored,
    truncated,
)
from spirloom.sizes import SizeExpr, Symbol

from spec_model.interval import EVERYTHING
from spec_model.symbolic import sym
from tests.sample import runs_all, seed

N, M = Symbol("n", 1, 5), Symbol("m", 2, 4)
POINTS = [{"n": n, "m": m} for n, m in product(range(1, 6), range(2, 5))]
COUNT = 10_000 if runs_all() else 300
Function = Callable[[Mapping[str, int]], float]


def quiet(function: Any) -> Callable[..., float]:
    """A function of NumPy, without warnings."""

    def call(*x: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*map(np.float64, x)))

    return call


def divided(a: float, b: float) -> float:
    if b:
        return a / b
    return a * math.inf if math.copysign(1, b) > 0 else a * -math.inf


def rounded(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(function(x)) if math.isfinite(x) else x


# By name in FORMULAS: the function in Python, and the number of operands. Functions that Python
# may round otherwise are those of NumPy.
PYTHON: dict[str, tuple[Callable[..., Any], int]] = {
    "sqrt": (lambda x: math.sqrt(x) if x >= 0 else math.nan, 1),
    "exp": (quiet(np.exp), 1),
    "log": (quiet(np.log), 1),
    "floor": (rounded(math.floor), 1),
    "ceil": (rounded(math.ceil), 1),
    "round": (rounded(round), 1),
    "float32": (quiet(np.float32), 1),
    "add": (operator.add, 2),
    "sub": (operator.sub, 2),
    "mul": (operator.mul, 2),
    "div": (divided, 2),
    "truediv": (divided, 2),
    "min": (min, 2),
    "max": (max, 2),
    "select": (lambda c, a, b: a if c != 0 else b, 3),
    "abs": (abs, 1),
    "float": (float, 1),
    "floordiv": (lambda a, b: rounded(math.floor)(divided(a, b)), 2),
    "neg": (operator.neg, 1),
    "reciprocal": (lambda x: divided(1.0, x), 1),
}  # fmt: skip
POWERS = (0, 1, 2, 3, -1, 0.5)


def number(choose: random.Random, depth: int) -> tuple[Function, Any]:
    """A random number, and its value at sizes by Python."""
    if depth == 0 or choose.random() < 0.15:
        value = choose.choice((0.0, 1.0, -2.0, 0.75, -0.3, 2.5, 6.0))
        leaves: tuple[tuple[Function, Any], ...] = (
            (lambda p: p["n"], sym(N)),
            (lambda p: p["m"] - 2 * p["n"], sym(M) - 2 * sym(N)),
            (lambda p: value, value),
        )
        return choose.choice(leaves)
    a, x = number(choose, depth - 1)
    if choose.random() < 0.08:
        power = choose.choice(POWERS)
        return (lambda p: quiet(np.power)(a(p), power)), FORMULAS["pow"](x, power)
    name = choose.choice([*PYTHON])
    function, count = PYTHON[name]
    others = [number(choose, depth - 1) for _ in range(count - 1)]
    parts = [a, *(b for b, _ in others)]
    return (
        lambda p: float(function(*(float(part(p)) for part in parts))),
        FORMULAS[name](x, *(y for _, y in others)),
    )


def numbers(turn: int) -> Iterator[tuple[SymFloat, list[float]]]:
    choose = random.Random(1000 * seed() + turn)
    for _ in range(COUNT):
        function, found = number(choose, choose.randint(1, 4))
        if isinstance(found, SymFloat):
            values = [float(function(point)) for point in POINTS]
            if not any(v != v or abs(v) > 1e30 for v in values):
                yield found, values


def test_values_at_all_sizes() -> None:
    count = 0
    for found, values in numbers(0):
        count += 1
        text = str(found)
        assert [found.expr.at(p) for p in POINTS] == pytest.approx(values, rel=1e-6, abs=1e-6), text
        assert found.value == found.expr.at({"n": N.max, "m": M.max})
        # All sizes at once.
        columns = {name: np.array([point[name] for point in POINTS]) for name in ("n", "m")}
        at_once = found.expr.evaluate(lambda leaf, at=columns: leaf.size.value(at))  # type: ignore
        assert np.broadcast_to(at_once, len(POINTS)).tolist() == [found.expr.at(p) for p in POINTS]
        in_file = stored(found)
        assert in_file is not None and in_file.value == found.value
        assert all(isinstance(leaf, SizeExpr) for leaf in in_file.expr.leaves())
        assert [in_file.expr.at(p) for p in POINTS] == [found.expr.at(p) for p in POINTS]
    assert count > COUNT // 3


def test_bounds() -> None:
    known = 0
    for found, _ in numbers(1):
        bounds = found.expr.bounds()
        for value in (found.expr.at(point) for point in POINTS):
            assert bounds.low <= value <= bounds.high, f"{found} is {value}, not in {bounds}"
            assert not bounds.integral or value.is_integer(), f"{found} is {value}"
        known += bounds != EVERYTHING
    assert known > COUNT // 5


def test_truncation() -> None:
    for found, _ in numbers(2):
        result = truncated(found)
        for point in POINTS:
            assert result.expr.at(point) == math.trunc(found.expr.at(point)), str(found)


def test_exact_bounds() -> None:
    """Of one size, monotonic operations have the bounds of the ends."""
    n = sym(N) + 0
    for name in ("sqrt", "exp", "log", "floor", "ceil", "round", "float32", "neg", "abs", "float"):
        x = computed(NumberOp.DIV, n, 2)
        ends = sorted(PYTHON[name][0](size / 2) for size in (1, 5))
        bounds = FORMULAS[name](x).expr.bounds()  # type: ignore[union-attr]
        assert [bounds.low, bounds.high] == pytest.approx(ends if name != "abs" else [0.5, 2.5])
    for name in ("add", "sub", "mul", "div", "min", "max", "select"):
        found = FORMULAS[name](n, *(3 for _ in range(PYTHON[name][1] - 1)))
        ends = sorted(PYTHON[name][0](k, *(3 for _ in range(PYTHON[name][1] - 1))) for k in (1, 5))
        bounds = found.expr.bounds()  # type: ignore[union-attr]
        assert [bounds.low, bounds.high] == pytest.approx(ends)
        assert bounds.integral is (name != "div")
    bounds = FORMULAS["div"](3.0, n).expr.bounds()  # type: ignore[union-attr]
    assert [bounds.low, bounds.high] == pytest.approx([0.6, 3])


def test_limit_of_operations() -> None:
    value: Any = sym(N)
    for _ in range((MAX_OPERATIONS - 1) // 2):
        value = computed(NumberOp.ADD, value, 1)
    assert value.expr.count == MAX_OPERATIONS - 1
    assert computed(NumberOp.SQRT, value).expr.count == MAX_OPERATIONS
    with pytest.raises(Unsupported, match=f"more than {MAX_OPERATIONS} operations on sizes"):
        computed(NumberOp.ADD, value, 1)


def test_no_stored_form() -> None:
    quotient = sym(N) // sym(M)
    assert stored(computed(NumberOp.ADD, 1.0, quotient)) is None
    assert stored(from_expr(number_of(quotient))) is None


def test_text() -> None:
    n = sym(N)
    text = "(min(n, 2.5) / sqrt((n - 2)))"
    expr = FORMULAS["div"](FORMULAS["min"](n, 2.5), FORMULAS["sqrt"](computed(NumberOp.SUB, n, 2)))
    assert str(expr) == text
    assert [op.operands for op in NumberOp] == [0, 0, *[1] * 7, *[2] * 7, 3]
    assert str(NumberExpr(NumberOp.CONSTANT, value=0.1)) == "0.1"
