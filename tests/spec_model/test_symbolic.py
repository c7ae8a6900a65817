"""Symbolic integers: equal to integers at every size of the symbols."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from spec_model.expr.types import EvalError, TensorType
from spec_model.library import Library
from spec_model.load.loader import load_library
from spec_model.spec import Arg, ArgType
from spec_model.symbolic import (
    Guard,
    Guards,
    SizeError,
    Symbol,
    SymInt,
    Undecided,
    at_sizes,
    general,
    known,
    maximum,
    minimum,
    size_of,
    strict,
    sym,
)
from spec_model.symbolic import bounds as bounds_module
from spec_model.symbolic.bounds import range_of
from spec_model.symbolic.expr import Size, division
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES
from spec_model.vocabulary import DType

N, M = Symbol("n", 1, 7), Symbol("m", 2, 6)
POINTS = [{"n": n, "m": m} for n, m in product(range(1, 8), range(2, 7))]

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": lambda a, b: minimum(a, b),
    "max": lambda a, b: maximum(a, b),
}


def formula(choose: random.Random, depth: int) -> tuple[Callable[[int, int], int], str]:
    """A random function of n and m, and its text."""
    if depth == 0 or choose.random() < 0.15:
        value = choose.randint(-4, 9)
        return choose.choice(((lambda n, m: n, "n"), (lambda n, m: m, "m"),
                              (lambda n, m: value, str(value))))  # fmt: skip
    name = choose.choice(list(OPERATIONS))
    operation, (a, left) = OPERATIONS[name], formula(choose, depth - 1)
    b, right = formula(choose, depth - 1)
    if name in ("//", "%"):
        divisor = choose.choice((2, 3, 5, -2))
        chosen = choose.random()
        if chosen < 0.6:
            b, right = (lambda n, m: divisor), str(divisor)
        elif chosen < 0.8:
            b, right = (lambda n, m: n + 1), "n + 1"
        else:
            b, right = (lambda n, m: n * m), "n*m"
    return (lambda n, m: operation(a(n, m), b(n, m))), f"({left} {name} {right})"


@pytest.mark.parametrize(
    ("limits", "proven", "exact"),
    [
        ({}, 1, 1),
        ({"MAX_SIZES": 0}, 0.948, 0.9),
        ({"MAX_SIZES": 0, "_MAX_TERMS": 0, "_MAX_CASES": 0}, 0.941, 0.883),
    ],
    ids=["compared", "derived", "interval arithmetic"],
)
def test_random_formulas(
    limits: dict[str, int], proven: float, exact: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values, bounds and proofs agree with the integers, also where sizes are not compared.
    `proven`: of the comparisons with one outcome, the share that is known; `exact`: the share of
    the ends of bounds that are values."""
    for name, limit in limits.items():
        monkeypatch.setattr(bounds_module, name, limit)
    forget()
    choose, known_outcomes, outcomes, values_at_ends, ends = random.Random(7), 0, 0, 0, 0
    with strict():
        for _ in range(1500):
            function, text = formula(choose, choose.randint(1, 4))
            try:
                result = function(sym(N), sym(M))
            except SizeError:
                continue
            values = [function(point["n"], point["m"]) for point in POINTS]
            assert [at_sizes(result, point) for point in POINTS] == values, text
            code = compile(str(result), text, "eval")  # the text is Python
            assert [eval(code, dict(point)) for point in POINTS] == values, text
            bounds = range_of(size_of(result))
            assert bounds.low <= min(values) and max(values) <= bounds.high, text
            ends += 2
            values_at_ends += (bounds.low == min(values)) + (bounds.high == max(values))
            for relation, holds in RELATIONS.items():
                outcome, expected = known(size_of(result), relation), {*map(holds, values)}
                outcomes += len(expected) == 1
                known_outcomes += outcome is not None
                assert outcome is None or expected == {outcome}, (text, relation)
    forget()
    assert outcomes * proven <= known_outcomes <= outcomes
    assert ends * exact <= values_at_ends


def forget() -> None:
    for function in vars(bounds_module).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


RELATIONS: dict[str, Callable[[int], bool]] = {
    "==": lambda x: x == 0,
    "!=": lambda x: x != 0,
    "<": lambda x: x < 0,
    "<=": lambda x: x <= 0,
    ">": lambda x: x > 0,
    ">=": lambda x: x >= 0,
}

BIG, OTHER = sym(Symbol("n", 1, 1 << 20)), sym(Symbol("m", 1, 1 << 20))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (BIG * OTHER // OTHER, BIG),
        ((BIG * BIG + BIG) // (BIG + 1), BIG),
        ((2 * BIG + 6) // 2, BIG + 3),
        ((BIG // 2 + 1) // 2, (BIG + 2) // 4),
        (BIG * OTHER * 6 // (OTHER * 4), BIG * 3 // 2),
        (maximum(BIG, OTHER), maximum(OTHER, BIG, OTHER)),
        (maximum(BIG - 1, 0), BIG - 1),
        (minimum(BIG + 3, OTHER + 5, BIG + 4), minimum(OTHER + 5, BIG + 3)),
        (3 * BIG % 3, 0),
        ((BIG + 4) % 2, BIG % 2),
        ((2 * BIG + 2 * OTHER) * BIG // (2 * BIG + 2 * OTHER), BIG),
        ((BIG * OTHER + 2 * OTHER) // (BIG * OTHER), 1 + 2 // BIG),
        (minimum(minimum(BIG, OTHER), 5), minimum(BIG, 5, OTHER)),
    ],
)
def test_canonical_form(a: int, b: int) -> None:
    with strict():
        assert a == b and hash(a) == hash(b)


def test_division_with_rest() -> None:
    """a = q b + r, where no term of r is a multiple of the leading term of b."""
    choose, with_quotient = random.Random(3), 0
    for _ in range(300):
        a, b = (
            sum(choose.randint(-9, 9) * BIG**i * OTHER**j for i in range(3) for j in range(2))
            for _ in range(2)
        )
        if not size_of(b).terms:
            continue
        whole, rest = division(size_of(a), size_of(b))
        with_quotient += whole.constant != 0
        assert whole * size_of(b) + rest == size_of(a)
        leading, by = next(iter(size_of(b).terms.items()))
        for product_, factor in rest.terms.items():
            assert Counter(leading) - Counter(product_) or abs(factor) < abs(by)
    assert with_quotient > 30
    for n in range(-7, 8):
        for d in (-3, -2, 1, 2, 5):
            whole, rest = division(Size.of(n), Size.of(d))
            assert whole.constant is not None and rest.constant is not None
            assert whole.constant == int(n / d) and rest.constant == n - d * int(n / d)


@pytest.mark.parametrize(
    ("difference", "relation"),
    [
        (BIG * OTHER - BIG, ">="),
        (BIG - BIG // 2 * 2 - BIG % 2, "=="),
        (BIG - (BIG + 1) // 2, ">="),
        (maximum(BIG, 3) - BIG, ">="),
        (minimum(BIG, OTHER) - BIG - 1, "<"),
        (BIG * BIG - BIG, ">="),
        (((1 << 20) - BIG) * ((1 << 20) - OTHER), ">="),
        ((BIG - 1) * (OTHER - 1), ">="),
    ],
)
def test_proof_by_bounds(difference: int, relation: str) -> None:
    assert known(size_of(difference), relation) is True


NESTED: list[Callable[[int, int], int]] = [
    lambda n, m: n // (2 * m),
    lambda n, m: (3 * n) // (2 * m),
    lambda n, m: n % (3 * m),
    lambda n, m: 50 // (n // 2 + 1),
    lambda n, m: 50 % (n % 3 + 1),
    lambda n, m: (7 * n) // minimum(n + 1, m),
    lambda n, m: 50 // (n * m),
    lambda n, m: minimum(2 * minimum(n, m), 5),
    lambda n, m: maximum(3 * maximum(n, m), 13),
    lambda n, m: minimum(n * minimum(n, m), m + 4),
    lambda n, m: maximum(-minimum(n, m), minimum(n, m) - 5),
]


@pytest.mark.parametrize("number", range(len(NESTED)))
def test_the_text_of_nested_parts(number: int) -> None:
    """It is Python with the same values."""
    with strict():
        result = NESTED[number](sym(N), sym(M))
    values = [NESTED[number](point["n"], point["m"]) for point in POINTS]
    assert [eval(str(result), dict(point)) for point in POINTS] == values
    assert [at_sizes(result, point) for point in POINTS] == values


def test_text() -> None:
    assert str(BIG + OTHER) == str(OTHER + BIG) and str(3 + BIG) == str(BIG + 3) == "n + 3"
    assert str(BIG // (2 * OTHER)) == "(n//(2*m))" and str(BIG // OTHER) == "(n//m)"
    assert str(2 * BIG * OTHER - BIG + 3) == "2*m*n - n + 3"
    assert str((BIG + 1) // 2 * 3) == "3*((n + 1)//2)"
    assert f"{maximum(BIG, 3)!r} {minimum(BIG, OTHER):>10}" == "max(3, n)  min(m, n)"


def test_undecided_comparisons() -> None:
    """Strict code refuses, importers record the outcome at the maximum sizes."""
    with strict(), pytest.raises(Undecided, match=r"^n - 5 >= 0 is true at some sizes"):
        bool(BIG >= 5)
    with general(Guards()) as guards:
        guards.node = "pool"
        assert not guards.assumed
        assert BIG != 5 and (BIG, 2) != (OTHER, 2)
        assert not guards.assumed
        assert BIG >= 5
    (guard,) = guards.assumed
    assert str(guard) == "n - 5 >= 0"
    assert guard.source.startswith("pool (test_symbolic.py:")
    assert guard.refutation() == "is false at n=1"
    small = sym(Symbol("k", 2, 9))
    assert Guard(size_of(small - 2), ">=", True).refutation() is None
    ends = BIG * BIG - 3 * BIG * OTHER + 2 * OTHER * OTHER + 10
    assert Guard(size_of(ends), ">=", True).refutation() == "is not proven for all sizes"


def test_a_lost_symbol_is_recorded() -> None:
    with strict(), pytest.raises(Undecided, match=r"^The integer value of n is not supported\.$"):
        int(BIG)
    with general(Guards()) as guards:
        assert int(BIG) == 1 << 20 and type(int(BIG)) is int
    assert [str(guard) for guard in guards.assumed] == ["n - 1048576 == 0"]


@pytest.mark.parametrize(
    "operation",
    [lambda n: n & 3, lambda n: 3 | n, lambda n: n << 1, lambda n: ~n, lambda n: n.bit_length(),
     lambda n: float(n), lambda n: n / 2, lambda n: pow(n, 0.5), lambda n: np.asarray(n)],
)  # fmt: skip
def test_operations_that_need_a_value(operation: Callable[[int], object]) -> None:
    small = sym(Symbol("n", 1, 5))
    with general(Guards()) as guards:
        operation(small)
    assert [str(guard) for guard in guards.assumed] == ["n - 5 == 0"]


def test_limits() -> None:
    """Expressions of hostile files cannot grow without limit."""
    total = sum((sym(Symbol(f"s{i}", 1, 9)) for i in range(20)), 0)
    with pytest.raises(SizeError, match="too many terms"):
        total**5
    with pytest.raises(SizeError, match="too many terms"):
        BIG**16 * BIG
    with pytest.raises(SizeError, match="too long"):
        value = total
        for _ in range(9):
            value = (value + value // 7) // 3 + value


def test_a_divisor_that_may_be_zero() -> None:
    with pytest.raises(SizeError, match="the divisor may be less than 1"):
        BIG // (OTHER - 1)


@pytest.fixture(scope="module")
def library() -> Library:
    return load_library([BUILTIN_SPECS], [BUILTIN_TEMPLATES])


def test_shapes_of_all_operators(library: Library) -> None:
    """The cases of the specs, with a symbol for each size: the shapes at each size are those of
    fixed sizes."""
    inferred = undecided = 0
    for op in library.ops.values():
        for case in op.tests[:4]:
            at_case, symbolic, sizes = _call(op.args, case.args)
            try:
                expected = op.infer(at_case)
            except EvalError:
                continue
            try:
                found = op.infer(symbolic)
            except Undecided:
                undecided += 1
                continue
            inferred += any(isinstance(size, SymInt) for y in found for size in y.shape)
            shapes = [tuple(at_sizes(size, sizes) for size in y.shape) for y in found]
            assert shapes == [y.shape for y in expected], (op.name, symbolic)
    assert inferred > 400
    assert undecided < inferred // 10


def _call(
    args: Sequence[Arg], values: Mapping[str, Any]
) -> tuple[dict[str, object], dict[str, object], dict[str, int]]:
    """A case with fixed and with symbolic sizes, and the sizes."""
    sizes: dict[str, int] = {}

    def symbolic(size: int) -> int:
        sizes[f"d{size}"] = size
        return sym(Symbol(f"d{size}", max(size - 1, 1), size + 2)) if size > 1 else size

    fixed: dict[str, object] = {}
    open_: dict[str, object] = {}
    for arg in args:
        value = values.get(arg.name)
        if value is None:
            continue
        dtype = arg.dtype or DType.F32
        if arg.type is ArgType.TENSOR:
            shape = tuple(getattr(value, "shape", value))
            fixed[arg.name] = TensorType(shape, dtype)
            open_[arg.name] = TensorType(tuple(map(symbolic, shape)), dtype)
        elif arg.type is ArgType.TENSORS:
            shapes = [tuple(getattr(item, "shape", item)) for item in value]
            fixed[arg.name] = tuple(TensorType(shape, dtype) for shape in shapes)
            open_[arg.name] = tuple(TensorType(tuple(map(symbolic, s)), dtype) for s in shapes)
        else:
            fixed[arg.name] = open_[arg.name] = value
    return fixed, open_, sizes
