"""Test cases: calls to make, and how far a result may be from the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from codegen.errors import Position
from codegen.expr.types import Value
from codegen.vocabulary import DType, Storage


@dataclass(frozen=True, slots=True)
class TensorCase:
    """A tensor of a test case: its shape, and what to fill it with."""

    shape: tuple[int, ...]
    range: tuple[float, float] | None = None  # None: by dtype
    values: tuple[float, ...] | None = None  # row-major; instead of random numbers
    constant: bool | None = None  # stored in the graph; None: if a kernel packs it
    extremes: tuple[float, float] | None = None  # instead of range: all numbers between these
    bfloat16: tuple[float, float] | None = None  # instead of range: bytes of such numbers


FLOATS, INTEGERS = "floats", "integers"
EVERYTHING = (-inf, inf)  # and NaN
# Least and greatest; None: what tests give; a word: what the dtype of the output so named holds.
Limits = tuple[float, float] | str | None
_HELD: Mapping[DType, tuple[float, float]] = {
    DType.I32: (-(2**31), 2**31 - 1),
    DType.I8: (-128, 127),
    DType.U8: (0, 255),
}  # the others take any number


@dataclass(frozen=True, slots=True)
class Domain:
    """The numbers that generated cases may hold: by argument, else by kind of dtype."""

    limits: Mapping[str, Limits]

    def of(
        self, arg: str, dtype: DType, outputs: Mapping[str, DType]
    ) -> tuple[float, float] | None:
        """The least and the greatest, given the outputs' dtypes; None: what tests give."""
        kind = FLOATS if dtype.is_float else INTEGERS
        limits = self.limits.get(arg, self.limits.get(kind, EVERYTHING))
        return _HELD.get(outputs[limits], EVERYTHING) if isinstance(limits, str) else limits


CaseValue = Value | TensorCase | tuple[TensorCase, ...] | None


@dataclass(frozen=True, slots=True)
class TestCase:
    """A call to test: a value for every arg (None: absent), and which variants it is for."""

    __test__ = False  # not a pytest class

    args: Mapping[str, CaseValue]
    dtypes: frozenset[DType] | None  # None: all
    storages: frozenset[Storage] | None
    kernel: str | None  # only calls that this kernel computes
    position: Position
    shared: bool = False  # of a template's `test_shapes`, which not each of its users can take
    uniform: bool = False  # that its outputs hold one number throughout is meant


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A result y passes when |y - r| <= atol + rtol * |r|."""

    rtol: float
    atol: float
    signed_zero: bool = False  # 0 and -0 differ

    def __str__(self) -> str:
        return f"rtol {self.rtol:g} and atol {self.atol:g}"

    def exceeds(self, other: Tolerance) -> bool:
        """Whether it lets pass what the other does not."""
        return self.rtol > other.rtol or self.atol > other.atol
