"""Random formulas of sizes: integers and numbers, and their values by Python."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
from spirloom.number_expr import FORMULAS
from spirloom.sizes import Symbol

from spec_model.symbolic import maximum, minimum, sym

N, M = Symbol("n", 1, 5), Symbol("m", 2, 4)
POINTS = [{"n": n, "m": m} for n, m in product(range(1, 6), range(2, 5))]
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


def integer(choose: random.Random, depth: int) -> tuple[Callable[[Mapping[str, int]], int], int]:
    """The value at sizes by Python, and a random integer of n and m."""
    if depth == 0 or choose.random() < 0.2:
        value = choose.randint(0, 9)
        leaves = ((lambda p: p["n"], sym(N)), (lambda p: p["m"], sym(M)), (lambda p: value, value))
        return choose.choice(leaves)
    (x, a), (y, b) = integer(choose, depth - 1), integer(choose, depth - 1)
    divisor = choose.randint(2, 7)
    return choose.choice(
        (
            (lambda p: x(p) + y(p), a + b),
            (lambda p: x(p) - y(p), a - b),
            (lambda p: x(p) * y(p), a * b),
            (lambda p: x(p) // divisor, a // divisor),
            (lambda p: x(p) % divisor, a % divisor),
            (lambda p: min(x(p), y(p)), minimum(a, b)),
            (lambda p: max(x(p), y(p)), maximum(a, b)),
        )
    )


def number(choose: random.Random, depth: int) -> tuple[Function, Any]:
    """The value at sizes by Python, and a random number of n and m."""
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
