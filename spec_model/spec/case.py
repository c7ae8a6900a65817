"""Test cases: calls, and the tolerances of their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from spec_model.data_types import Kind
from spec_model.errors import Position
from spec_model.expr.types import Value
from spec_model.vocabulary import DType, Storage, dtypes_of


@dataclass(frozen=True, slots=True)
class TensorCase:
    """A tensor of a test case: its shape and values."""

    shape: tuple[int, ...]
    range: tuple[float, float] | None = None  # None: by dtype
    values: tuple[float, ...] | None = None  # row-major; instead of random values
    constant: bool | None = None  # a constant of the graph; None: if a kernel packs it
    extremes: tuple[float, float] | None = None  # instead of range: any value between these


FLOATS, INTEGERS = "floats", "integers"
EVERYTHING = (-inf, inf)  # and NaN
# Minimum and maximum; None: the ranges of the tests; a name: the range of that output's dtype.
Limits = tuple[float, float] | str | None
_HELD: Mapping[DType, tuple[float, float]] = {
    dtype: (int(dtype.row.min), int(dtype.row.max)) for dtype in dtypes_of(Kind.INT)
}  # other dtypes are not limited


@dataclass(frozen=True, slots=True)
class Domain:
    """The range of values in generated cases: by argument, otherwise by kind of dtype."""

    limits: Mapping[str, Limits]

    def of(
        self, arg: str, dtype: DType, outputs: Mapping[str, DType]
    ) -> tuple[float, float] | None:
        """Minimum and maximum for the outputs' dtypes; None: the ranges of the tests."""
        kind = FLOATS if dtype.is_float else INTEGERS
        limits = self.limits.get(arg, self.limits.get(kind, EVERYTHING))
        return _HELD.get(outputs[limits], EVERYTHING) if isinstance(limits, str) else limits


CaseValue = Value | TensorCase | tuple[TensorCase, ...] | None


@dataclass(frozen=True, slots=True)
class TestCase:
    """A call to test: a value for every arg (None: absent), and the variants to test."""

    __test__ = False  # not a pytest class

    args: Mapping[str, CaseValue]
    dtypes: frozenset[DType] | None  # None: all
    storages: frozenset[Storage] | None
    kernel: str | None  # the only kernel to test
    position: Position
    shared: bool = False  # from a template's `test_shapes`: some ops may reject it
    uniform: bool = False  # outputs with a single value are intended


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A result y passes if |y - r| <= atol + rtol * |r|."""

    rtol: float
    atol: float
    signed_zero: bool = False  # 0 and -0 differ

    def __str__(self) -> str:
        return f"rtol {self.rtol:g} and atol {self.atol:g}"

    def exceeds(self, other: Tolerance) -> bool:
        """Whether it accepts results that the other rejects."""
        return self.rtol > other.rtol or self.atol > other.atol
