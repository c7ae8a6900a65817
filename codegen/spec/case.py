"""Test cases: calls to make, and how far a result may be from the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A result y passes when |y - r| <= atol + rtol * |r|."""

    rtol: float
    atol: float

    def __str__(self) -> str:
        return f"rtol {self.rtol:g} and atol {self.atol:g}"

    def exceeds(self, other: Tolerance) -> bool:
        """Whether it lets pass what the other does not."""
        return self.rtol > other.rtol or self.atol > other.atol
