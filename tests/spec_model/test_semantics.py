"""The functions and operators of specs have the values of their oracles, for ints and, at every
size, for ints that depend on sizes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement, islice, product
from typing import Any

import numpy as np
import pytest

from spec_model.expr import operations as ops
from spec_model.expr.semantics import as_number, to_dtype
from spec_model.expr.types import EvalError, Kind, Operation, TensorType
from spec_model.symbolic import SizeError, Symbol, at_sizes, strict, sym
from spec_model.vocabulary import DType
from tests.sample import runs_all, seed
from tests.spec_model.function_oracles import ORACLES, in_64_bits

CALLS = 40_000 if runs_all() else 4_000  # at most, of each function


def calls() -> list[tuple[str, tuple[Kind, ...], Operation]]:
    """Each function and operator: its name, the kinds of operands, and the implementation."""
    found = [(name, overload.parameters, overload.operation)
             for name, overloads in ops.FUNCTIONS.items() for overload in overloads]  # fmt: skip
    for name, variadic in ops.VARIADIC.items():
        found += [(name, (kind, kind), operation) for kind, operation in variadic.items()]
    for name, binary in ops.BINARY.items():
        found += [(name, (kind, kind), operation) for kind, (_, operation) in binary.items()]
    found += [("neg", (kind,), operation) for kind, operation in ops.NEGATE.items()]
    found += [("in", (Kind.INT, Kind.INTS), ops.CONTAINS)]
    found += [("[]", (Kind.INTS, Kind.INT), ops.INDEX_INTS)]
    found += [("[]", (Kind.TENSORS, Kind.INT), ops.INDEX_TENSORS)]
    found += [("[:]", (Kind.INTS, Kind.INT, Kind.INT), ops.SLICE)]
    return found


CASES = calls()
IDS = [f"{name} {' '.join(kinds)}" for name, kinds, _ in CASES]

FAR = [2**31, 2**32 - 1, 2**62, 2**63 - 1, 1 - 2**63, -(2**63)]
NEAR = [*range(-5, 6), 7, 63, 64, 65]
FLOATS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.75, 3.4e38, -3.5e38, 1e-46, 2.0**63, -(2.0**63), -9.3e18,
          9223372036854774784.0, 1e300, math.inf, -math.inf, math.nan]  # fmt: skip
LISTS = [v for n in range(4) for v in product((0, 1, 2, 3), repeat=n)]
LISTS += [(4, 1, 7, 5), (5, 4, 3, 2, 1), (1,) * 62, (2,) * 64, (2**32, 2**31), (2**32, 2**30, 4, 0)]
INDICES = [*LISTS, (-1,), (-1, 0), (-2, 1), (-4, 3)]
TENSORS = [TensorType(v, DType.F32, present=len(v) != 1) for v in LISTS]
TENSOR_LISTS = [(TENSORS[1],), (TENSORS[2], TENSORS[3]), (TENSORS[-3],), (TENSORS[9], TENSORS[30]),
                (TENSORS[30], TENSORS[46], TENSORS[30]), (TENSORS[30], TENSORS[31])]  # fmt: skip
DOMAINS: dict[Kind, Sequence[Any]] = {
    Kind.INT: NEAR + FAR,
    Kind.FLOAT: FLOATS,
    Kind.BOOL: [False, True],
    Kind.INTS: LISTS,
    Kind.TENSOR: TENSORS,
    Kind.TENSORS: TENSOR_LISTS,
}


def some(domains: Sequence[Sequence[Any]], count: int) -> list[tuple[Any, ...]]:
    """All combinations, or a sample if there are more than `count`."""
    if math.prod(map(len, domains)) <= count:
        return list(product(*domains))
    choose = random.Random(seed())
    return [tuple(map(choose.choice, domains)) for _ in range(count)]


def expected_of(name: str, args: tuple[Any, ...]) -> Any:
    """The oracle's value; None if there is none."""
    try:
        value = in_64_bits(ORACLES[name](*args))
    except (ArithmeticError, IndexError, ValueError):
        return None
    return None if isinstance(value, tuple) and len(value) > 64 else value


def value_of(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return function(*args)
    except EvalError:
        return None


def same(found: Any, expected: Any) -> bool:
    if found == expected == 0:
        return math.copysign(1, found) == math.copysign(1, expected)
    return bool(found == expected or (found != found and expected != expected))


@pytest.mark.parametrize(("name", "kinds", "operation"), CASES, ids=IDS)
def test_values(name: str, kinds: tuple[Kind, ...], operation: Operation) -> None:
    domains = [DOMAINS[kind] for kind in kinds]
    if name in ("wrap_all", "remove"):
        domains[-len(kinds) + (name == "remove")] = INDICES
    for args in some(domains, CALLS):
        found, expected = value_of(operation.evaluate, args), expected_of(name, args)
        assert same(found, expected), f"{name}{args} is {found}, not {expected}"


N, M = Symbol("n", 1, 3), Symbol("m", 2, 4)
POINTS = [{"n": n, "m": m} for n, m in product(range(1, 4), range(2, 5))]
n, m = sym(N), sym(M)
SIZES = [n, m, n + 1, n - 2, 2 * m - n, n * m, -m, 2, 0, 1, -1, 3]
SIZE_LISTS = [
    (),
    (n,),
    (m, n),
    (1, n),
    (n, 1, m),
    (n, n),
    (n - 1, m),
    (m, m, 1),
    (2, n + 1),
    (3, 1),
]
SIZE_TENSORS = [TensorType(v, DType.F32) for v in SIZE_LISTS]
SYMBOLIC: dict[Kind, Sequence[Any]] = {
    Kind.INT: SIZES,
    Kind.INTS: SIZE_LISTS,
    Kind.TENSOR: SIZE_TENSORS,
    Kind.TENSORS: [*combinations_with_replacement(SIZE_TENSORS[1:8], 2)],
}
# Their values have formulas at all sizes; divisions have one if the divisor is positive.
TOTAL = ("+", "-", "*", "neg", "abs", "min", "max", "prod", "sum", "numel", "strides", "nchw",
         "broadcast", "broadcast_strides", "wrap_all", "remove")  # fmt: skip
DIVISIONS = ("//", "%", "ceil_div", "round_up")


def has_formula(name: str, args: tuple[Any, ...]) -> bool:
    """Whether a call that has a value at each size must have one for all sizes."""
    if name in DIVISIONS:
        return all(at(args[1], point) > 0 for point in POINTS)
    fixed = all(type(arg) is int for arg in args if isinstance(arg, int))
    return name in TOTAL or (fixed and name not in ("in", "alike"))


def at(value: Any, point: dict[str, int]) -> Any:
    """A value at these sizes."""
    match value:
        case tuple():
            return tuple(at(item, point) for item in value)
        case TensorType():
            return TensorType(at(value.shape, point), value.dtype)
    return at_sizes(value, point)


SYMBOLIC_CASES = [case for case in CASES if all(kind in SYMBOLIC for kind in case[1])]


@pytest.mark.parametrize(
    ("name", "kinds", "operation"),
    SYMBOLIC_CASES,
    ids=[f"{name} {' '.join(kinds)}" for name, kinds, _ in SYMBOLIC_CASES],
)
def test_symbolic_values(name: str, kinds: tuple[Kind, ...], operation: Operation) -> None:
    """The value at each size, or none; a call without a value at some size has none."""
    found = 0
    for args in islice(some([SYMBOLIC[kind] for kind in kinds], CALLS // 4), CALLS // 4):
        expected = [expected_of(name, at(args, point)) for point in POINTS]
        try:
            with strict():
                value = operation.evaluate(*args)
        except EvalError:
            assert None in expected or not has_formula(name, args), f"{name}{args} has a value"
            continue
        except SizeError as error:
            raise AssertionError(f"{name}{args}: {error}") from error
        found += 1
        values = [at(value, point) for point in POINTS]
        if name == "broadcast_strides":  # a dimension of one element has any stride
            pairs = zip(values, expected, [at(args[1], point) for point in POINTS], strict=True)
            differ = [[s for s, t, size in zip(*each, strict=True) if s != t and size != 1]
                      for each in pairs]  # fmt: skip
            assert not any(differ), f"{name}{args}"
        else:
            assert values == expected, f"{name}{args}"
    assert found


@pytest.mark.parametrize("dtype", DType)
def test_numbers_of_integer_kernels_saturate(dtype: DType) -> None:
    limits = np.iinfo(np.int32)
    near = [limits.min - 1.0, limits.min, limits.min + 1.5, limits.max - 0.5, limits.max + 0.5]
    for value in (*FLOATS, *near):
        found = value_of(as_number, (value, dtype))
        if dtype.is_float:
            assert same(found, value)
        elif dtype is DType.B8:
            assert found == (value != 0)
        elif value != value:
            assert found is None
        else:
            assert found == int(np.clip(value, limits.min, limits.max))


def test_dtypes_by_name() -> None:
    assert [to_dtype(str(dtype)) for dtype in DType] == list(DType)
    with pytest.raises(EvalError, match=r"^'f31' is not a dtype\.$"):
        to_dtype("f31")
