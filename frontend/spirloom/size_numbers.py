"""Numbers that depend on symbolic sizes: mean divisors, 1/sqrt(n), bounds of masks.

Int arguments of nodes can be formulas, values of tensors cannot. Such a number is read from a table
of its values at all sizes, at an index that is a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spec_model.symbolic import Symbol, size_of, sym
from spec_model.symbolic.bounds import range_of
from spirloom.errors import Unsupported
from spirloom.sizes import SymInt

MAX_VALUES = 1 << 16


@dataclass(frozen=True, slots=True)
class SizeNumber:
    """A number that is `values[index]`."""

    index: SymInt
    values: tuple[int | float, ...]

    @property
    def kind(self) -> np.dtype[Any]:
        """The type of the values, as of Python numbers."""
        return np.dtype(np.int64 if all(type(v) is int for v in self.values) else np.float64)


def size_number(size: SymInt) -> SizeNumber:
    """A size as a number. Raises Unsupported if it has too many values."""
    symbols = size.size.symbols
    if len(symbols) == 1:
        (symbol,) = symbols
        return _by_symbol(symbol, lambda value: size.size.value({symbol.name: value}))
    bounds = range_of(size.size)
    _check(bounds.high - bounds.low + 1, size)
    return SizeNumber(_index(size, bounds.low), tuple(range(bounds.low, bounds.high + 1)))


def _by_symbol(symbol: Symbol, value_at: Callable[[int], int | float]) -> SizeNumber:
    _check(symbol.max - symbol.min + 1, symbol)
    sizes = range(symbol.min, symbol.max + 1)
    return SizeNumber(_index(sym(symbol), symbol.min), tuple(map(value_at, sizes)))


def _index(size: int, low: int) -> SymInt:
    index = size - low
    assert isinstance(index, SymInt)
    return index


def _check(count: int, what: object) -> None:
    if count > MAX_VALUES:
        raise Unsupported(
            f"it computes with {what}, which has {count} values; at most {MAX_VALUES} are supported"
        )


def applied(function: Callable[..., Any], values: Sequence[object]) -> SizeNumber:
    """The result of a function of numbers, some of which depend on sizes. Raises Unsupported."""
    numbers = [size_number(v) if isinstance(v, SymInt) else v for v in values]
    known = [v for v in numbers if isinstance(v, SizeNumber)]
    first = known[0]
    if any(size_of(other.index) != size_of(first.index) for other in known):
        raise Unsupported("it computes with several symbolic sizes")
    rows = [v.values if isinstance(v, SizeNumber) else (v,) * len(first.values) for v in numbers]
    return SizeNumber(first.index, tuple(function(*row) for row in zip(*rows, strict=True)))
