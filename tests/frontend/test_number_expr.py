"""Numbers that depend on sizes, compared with Python's at every size: values, bounds, stored forms,
truncation."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
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
from spirloom.sizes import SizeExpr

from spec_model.interval import EVERYTHING
from spec_model.symbolic import sym
from tests.formulas import POINTS, PYTHON, M, N, number
from tests.sample import runs_all, seed

COUNT = 10_000 if runs_all() else 300


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
