"""The limits of constants and numbers in fp16, compared with NumPy's float16."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from spirloom.ir import Array, DType, Tensor, constant
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.fp16 import _rounded
from spirloom.passes.fp16_rules import (
    LARGEST,
    SATURATED,
    SMALLEST,
    Reason,
    Role,
    clamped_number,
    fits,
    reason_of_constant,
    reason_of_number,
    role_of,
    squares,
)

ADD, MUL, MAXIMUM = "aten.add.Tensor", "aten.mul.Tensor", "aten.maximum"
MAGNITUDES = (0.0, 1e-38, 1e-10, SMALLEST / 2, np.nextafter(SMALLEST, 0), SMALLEST, 1.0, 100.0,
              LARGEST, np.nextafter(LARGEST, 1e9), 65520.0, 1e10, 3e38, np.inf, np.nan)  # fmt: skip
VALUES = [sign * value for value in MAGNITUDES for sign in (1, -1)]


def test_limits_are_those_of_float16() -> None:
    with np.errstate(over="ignore"):
        assert np.isfinite(np.float16(LARGEST)) and np.isinf(np.float16(LARGEST + 16))
        assert float(np.float16(SMALLEST)) == SMALLEST
        subnormal = SMALLEST * (1 - 2.0**-11)
        assert float(np.float16(subnormal)) != subnormal
        scores = np.float16(-SATURATED) + np.float16(-4000)
        assert np.isfinite(scores) and LARGEST - SATURATED >= 4000


@pytest.mark.parametrize("name", ["value", "min", "max", "act_min", "dim", "eps"])
def test_numbers(name: str) -> None:
    """Finite values beyond the range saturate where they are values; others are unchanged."""
    is_value, is_limit = name not in ("dim", "eps"), name in ("min", "max")
    for value in VALUES:
        found = clamped_number(name, value)
        beyond = is_value and np.isfinite(value) and abs(value) > LARGEST
        expected = np.copysign(SATURATED, value) if beyond else value
        assert found == expected or (found != found and value != value)
        vanishes = is_limit and value != 0 and abs(value) < SMALLEST
        assert reason_of_number(name, value) is (Reason.EPSILON if vanishes else None)
    assert clamped_number(name, 100_000) == 100_000 and reason_of_number(name, 1) is None


def test_ranges_fit() -> None:
    for low, high in product(VALUES, VALUES):
        assert fits(low, high) == (abs(low) <= LARGEST and abs(high) <= LARGEST)
    assert fits(-1, 7) and not fits(-1, None) and not fits("", 1)


def test_constants_saturate() -> None:
    values = np.array(VALUES, np.float32)
    found = _rounded(values)
    assert found.dtype == np.float16
    for value, own in zip(values, found, strict=True):
        with np.errstate(over="ignore"):
            plain = np.float16(value)
        saturates = np.isfinite(value) and np.isinf(plain)
        np.testing.assert_equal(
            own, np.float16(np.copysign(SATURATED, value)) if saturates else plain
        )


ARRAYS: dict[str, Array] = {
    "small": np.array(1e-9), "small row": np.full(3, -1e-9), "zero": np.array(0.0),
    "normal": np.array(SMALLEST), "one small of three": np.array([1e-9, 1, 2]),
    "large": np.array(1e6), "large row": np.array([-1e6, 1.0]), "mask": np.array([0, -1e6, 0]),
    "all -1e6": np.full(2, -1e6), "infinite mask": np.array([0, -np.inf]), "nan": np.array(np.nan),
    "largest": np.array([1, LARGEST]), "empty": np.zeros(0), "zeros": np.zeros(3),
}  # fmt: skip
# By operator, the constants that keep it in float32.
EPSILON: dict[str, set[str]] = {
    ADD: {"small", "small row"}, MUL: {"small"}, MAXIMUM: {"small", "small row"},
    "aten.cat": set(),
}  # fmt: skip
LARGE: dict[str, set[str]] = {
    ADD: {"large", "large row", "all -1e6"}, MUL: {"large", "large row", "mask", "all -1e6"},
    MAXIMUM: set(), "aten.cat": set(),
}  # fmt: skip


@pytest.mark.parametrize("op", EPSILON)
def test_constants(op: str) -> None:
    """A constant that all results contain, and that fp16 rounds to zero or does not represent."""
    for name, values in ARRAYS.items():
        found = reason_of_constant(op, constant("c", values.astype(np.float32)))
        small, large = name in EPSILON[op], name in LARGE[op]
        assert found is (Reason.EPSILON if small else Reason.LARGE if large else None), name
    assert reason_of_constant(op, Tensor("x", DType.F32, (3,))) is None
    assert reason_of_constant(op, constant("c", np.array([70000], np.int32))) is None


def test_squares() -> None:
    x, y = Tensor("x", DType.F32, (3,)), Tensor("y", DType.F32, (3,))
    assert squares(MUL, (x, x)) and not squares(MUL, (x, y)) and not squares(ADD, (x, x))
    assert squares("aten.square", (x,))


ROLES: dict[str, Role] = {
    "aten.exp": Role.GROWS, "aten.pow.Tensor_Tensor": Role.GROWS, "aten.cumsum": Role.GROWS,
    "aten.reciprocal": Role.INVERTS, "aten.rsqrt": Role.INVERTS, "aten.log": Role.COMPRESSES,
    "aten.sigmoid": Role.BOUNDS, "aten._softmax": Role.BOUNDS, "aten.mm": Role.MULTIPLIES,
    "aten.convolution": Role.MULTIPLIES, "aten.argmax": Role.READS, "aten.relu": Role.FOLLOWS,
    "aten.add.Tensor": Role.FOLLOWS, "aten.view": Role.FOLLOWS, "aten._to_copy": Role.CASTS,
    "no.such_operator": Role.STORES,
}  # fmt: skip


@pytest.mark.parametrize("op", ROLES)
def test_roles(op: str, library: OpLibrary) -> None:
    assert role_of(op, library) is ROLES[op]


def test_results_that_follow_their_inputs_fit(library: OpLibrary) -> None:
    """Operators of one tensor: those whose results of fp16 values exceed fp16 by more than a
    factor, as of angles in degrees, have a role that keeps them in float32."""
    x = np.array([v for v in VALUES if np.isfinite(v) and abs(v) <= LARGEST], np.float32)
    found = 0
    for name in library.names():
        if [arg.name for arg in library.spec(name).args if arg.default is None] != ["x"]:
            continue
        try:
            y, *_ = library.compute(name, {"x": x})
        except OpError:
            continue
        found += 1
        if (np.isfinite(y) & (abs(y) > 64 * LARGEST)).any():
            role = role_of(name, library)
            assert role in (Role.GROWS, Role.INVERTS, Role.CASTS, Role.READS), f"{name}: {role}"
    assert found > 40
