"""Integers that depend on symbolic sizes, with the arithmetic and comparisons of `int`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache, reduce
from math import isinf
from typing import Any, NoReturn, Self

from spec_model.symbolic import expr as exprs
from spec_model.symbolic.bounds import range_of, sign
from spec_model.symbolic.expr import Size, Symbol, at_maximum
from spec_model.symbolic.guards import Unguarded, decide, fix, guard_of

_MAX_RESULTS = 1 << 12  # of each operation: networks repeat those of equal layers


class SymInt(int):
    """An integer that depends on symbols. As an `int`, it has its value at the maximum sizes.

    Arithmetic returns an `int` where the result is constant. Comparisons are those of `guards`.
    A conversion to a plain int or float records an equality guard. Functions in C that read the
    value of an `int` directly cannot be detected; importers compare with an import at the minimum
    sizes.
    """

    size: Size

    def __new__(cls, size: Size) -> Self:
        made = super().__new__(cls, at_maximum(size))
        made.size = size
        return made

    def __reduce__(self) -> NoReturn:
        raise TypeError("Symbolic integers cannot be pickled.")

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __add__(self, other: Any) -> Any:
        return _applied(_add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _applied(_add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _applied(_sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _applied(_sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _applied(_mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _applied(_mul, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _applied(_floor_div, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _applied(_floor_div, other, self)

    def __mod__(self, other: Any) -> Any:
        return _applied(_mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _applied(_mod, other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        if modulo is not None or type(other) is not int or not 0 <= other <= 16:
            return pow(int(self), other, modulo)
        return sym(reduce(lambda a, b: a * b, [self.size] * other, Size.of(1)))

    def __neg__(self) -> Any:
        return sym(-self.size)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return maximum(self, -self)

    def __eq__(self, other: object) -> Any:
        return _compared(self, "==", other)

    def __ne__(self, other: object) -> Any:
        return _compared(self, "!=", other)

    def __lt__(self, other: Any) -> Any:
        return _compared(self, "<", other)

    def __le__(self, other: Any) -> Any:
        return _compared(self, "<=", other)

    def __gt__(self, other: Any) -> Any:
        return _compared(self, ">", other)

    def __ge__(self, other: Any) -> Any:
        return _compared(self, ">=", other)

    def __bool__(self) -> bool:
        return decide(self.size, "!=")

    def __hash__(self) -> int:
        return hash(self.size)

    def __int__(self) -> int:
        return fix(self.size, "The integer value")

    def __index__(self) -> int:
        return fix(self.size, "The integer value")

    def __float__(self) -> float:
        return float(fix(self.size, "The float value"))

    def __truediv__(self, other: Any) -> float:
        return float(self) / float(other)

    def __rtruediv__(self, other: Any) -> float:
        return float(other) / float(self)

    def __round__(self, digits: Any = None) -> Any:
        return self

    def __floor__(self) -> Any:
        return self

    def __ceil__(self) -> Any:
        return self

    def __trunc__(self) -> Any:
        return self

    def __str__(self) -> str:
        return str(self.size)

    def __repr__(self) -> str:
        return str(self.size)

    def __format__(self, spec: str) -> str:
        return format(str(self.size), spec)


def _by_value(name: str) -> Any:
    """An operation of the plain values, which records equality guards."""

    def operation(self: SymInt, *others: Any) -> Any:
        values = [int(other) if isinstance(other, SymInt) else other for other in others]
        return getattr(int(self), name)(*values)

    return operation


for _name in ("and", "or", "xor", "lshift", "rshift"):
    setattr(SymInt, f"__{_name}__", _by_value(f"__{_name}__"))
    setattr(SymInt, f"__r{_name}__", _by_value(f"__r{_name}__"))
for _name in ("__invert__", "bit_length", "bit_count", "to_bytes"):
    setattr(SymInt, _name, _by_value(_name))


def size_of(value: int) -> Size:
    """The expression of an integer."""
    return value.size if isinstance(value, SymInt) else Size.of(int(value))


def sym(size: Size | Symbol) -> int:
    """The integer of an expression; a plain `int` if it is constant."""
    size = Size.of(size) if isinstance(size, Symbol) else size
    return SymInt(size) if size.constant is None else size.constant


def at_sizes(value: int, sizes: Mapping[str, int]) -> int:
    """The value of an integer at these sizes of the symbols."""
    return value.size.value(sizes) if isinstance(value, SymInt) else value


def minimum(*values: int) -> int:
    """The minimum of at least one value, as an expression where it depends on the sizes."""
    if SymInt not in map(type, values):
        return min(values)
    return _extreme(values, largest=False)


def maximum(*values: int) -> int:
    """The maximum of at least one value, as an expression where it depends on the sizes."""
    if SymInt not in map(type, values):
        return max(values)
    return _extreme(values, largest=True)


def _extreme(values: Iterable[int], largest: bool) -> int:
    left: list[Size] = []
    for size in exprs.extremes(map(size_of, values), largest):
        if any(_covers(other, size, largest) for other in left):
            continue
        left = [other for other in left if not _covers(size, other, largest)]
        left.append(size)
    return sym(exprs.extreme(left, largest))


def _covers(a: Size, b: Size, largest: bool) -> bool:
    """Whether a is never smaller than b, or for a minimum never larger."""
    bounds = range_of(_sub(a, b))
    return bounds.low >= 0 if largest else bounds.high <= 0


def _applied(function: Any, a: Any, b: Any) -> Any:
    """The result of an operation on integers. Other types get the plain value."""
    if isinstance(a, int) and isinstance(b, int):
        return sym(function(size_of(a), size_of(b)))
    if isinstance(a, float) or isinstance(b, float):
        return _PLAIN[function](float(a), float(b))
    return NotImplemented


@lru_cache(maxsize=_MAX_RESULTS)
def _add(a: Size, b: Size) -> Size:
    return a + b


@lru_cache(maxsize=_MAX_RESULTS)
def _sub(a: Size, b: Size) -> Size:
    return a - b


@lru_cache(maxsize=_MAX_RESULTS)
def _mul(a: Size, b: Size) -> Size:
    return a * b


def _floor_div(a: Size, b: Size) -> Size:
    _check_divisor(a, b, "//")
    return _quotient(a, b)


def _mod(a: Size, b: Size) -> Size:
    _check_divisor(a, b, "%")
    return _remainder(a, b)


_quotient = lru_cache(maxsize=_MAX_RESULTS)(exprs.quotient)
_remainder = lru_cache(maxsize=_MAX_RESULTS)(exprs.remainder)


def _check_divisor(a: Size, b: Size, op: str) -> None:
    """Raises Unguarded for a divisor that may be less than 1."""
    if b.constant == 0:
        raise ZeroDivisionError(f"{a} {op} 0")
    negative, zero, _ = sign(b)
    if b.constant is None and (negative or zero):
        message = f"{a} {op} ({b}) is not supported: the divisor may be less than 1"
        raise Unguarded(message, guard_of(b - 1, ">=", True))


_PLAIN = {
    _add: float.__add__,
    _sub: float.__sub__,
    _mul: float.__mul__,
    _floor_div: float.__floordiv__,
    _mod: float.__mod__,
}


def _compared(a: SymInt, relation: str, other: object) -> Any:
    if isinstance(other, int):
        return decide(_sub(a.size, size_of(other)), relation)
    if isinstance(other, float):
        return _compared_float(a, relation, other)
    return NotImplemented


def _compared_float(a: SymInt, relation: str, other: float) -> bool:
    if other.is_integer():
        return decide(a.size - int(other), relation)
    if other != other or relation in ("==", "!="):
        return relation == "!="
    if isinf(other):
        return (relation in ("<", "<=")) == (other > 0)
    # Between two integers: a > other is a >= floor(other) + 1.
    relation = ">=" if relation in (">", ">=") else "<"
    return decide(a.size - (int(other // 1) + 1), relation)
