"""The semantics of the language's operations, equal to runtime/ops/eval*.cpp; a test compares."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from functools import reduce

from spec_model.expr.types import (
    INT64_MAX,
    INT64_MIN,
    MAX_INTS,
    EvalError,
    TensorType,
)
from spec_model.symbolic import SizeError, SymInt, Undecided, maximum, minimum
from spec_model.vocabulary import DType

Ints = tuple[int, ...]


def _int64(value: int, a: int, op: str, b: int) -> int:
    """The value of `a op b`, which must fit 64 bits."""
    if not INT64_MIN <= value <= INT64_MAX:
        raise EvalError(f"{a} {op} {b} overflows int64.")
    return value


def ints(values: Iterable[int]) -> Ints:
    """A list. Fails if it exceeds the runtime's limit."""
    result = tuple(values)
    if len(result) > MAX_INTS:
        raise EvalError(f"A list grows beyond {MAX_INTS} elements.")
    return result


def add(a: int, b: int) -> int:
    return _int64(a + b, a, "+", b)


def sub(a: int, b: int) -> int:
    return _int64(a - b, a, "-", b)


def mul(a: int, b: int) -> int:
    return _int64(a * b, a, "*", b)


def neg(a: int) -> int:
    return sub(0, a)


def floor_div(a: int, b: int) -> int:
    if b == 0:
        raise EvalError(f"{a} // {b} divides by zero.")
    return _int64(_quotient(a, b), a, "//", b)


def _quotient(a: int, b: int) -> int:
    try:
        return a // b
    except SizeError as error:
        raise Undecided(f"{error}.") from None


def mod(a: int, b: int) -> int:
    if b == 0:
        raise EvalError(f"{a} % {b} divides by zero.")
    rest: int = a - _quotient(a, b) * b if isinstance(b, SymInt) else a % b
    return rest


def ceil_div(a: int, b: int) -> int:
    if isinstance(a, SymInt) or isinstance(b, SymInt):
        return neg(floor_div(neg(a), b))
    return floor_div(a, b) + (a % b != 0)


def round_up(a: int, multiple: int) -> int:
    return mul(ceil_div(a, multiple), multiple)


def abs_int(a: int) -> int:
    if isinstance(a, SymInt):
        return maximum(a, neg(a))
    return neg(a) if a < 0 else a


def smallest(a: int, b: int) -> int:
    return minimum(a, b) if isinstance(a, SymInt) or isinstance(b, SymInt) else min(a, b)


def largest(a: int, b: int) -> int:
    return maximum(a, b) if isinstance(a, SymInt) or isinstance(b, SymInt) else max(a, b)


def to_int(a: float) -> int:
    if not -9223372036854775808.0 <= a < 9223372036854775808.0:
        raise EvalError(f"The float {a:f} is outside int64.")
    return int(a)


def float_bits(a: float) -> int:
    """The bits of a as a float32, as an int32. All NaNs have the same bits."""
    if math.isnan(a):
        return 0x7FC00000
    try:
        packed = struct.pack("<f", a)
    except OverflowError:  # C++ converts out-of-range values to infinity
        packed = struct.pack("<f", math.copysign(math.inf, a))
    return int(struct.unpack("<i", packed)[0])


def float_div(a: float, b: float) -> float:
    """IEEE division, as in C++: no error for a zero divisor."""
    if b != 0 or math.isnan(b):
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, math.copysign(1, a) * math.copysign(1, b))


def smaller(a: float, b: float) -> float:
    return b if b < a else a


def larger(a: float, b: float) -> float:
    return b if a < b else a


def to_dtype(name: str) -> DType:
    try:
        return DType(name)
    except ValueError:
        raise EvalError(f"'{name}' is not a dtype.") from None


def index(v: Ints, i: int) -> int:
    if not -len(v) <= i < len(v):
        raise EvalError(f"Index ({i}) is out of range of a list of {len(v)}.")
    return v[int(i)]


def slice_of(v: Ints, begin: int, end: int) -> Ints:
    return v[int(begin) : int(end)]


def concat(a: Ints, b: Ints) -> Ints:
    return ints(a + b)


def range_of(n: int) -> Ints:
    return tuple(range(len(fill(n, 0))))


def fill(n: int, value: int) -> Ints:
    if n > MAX_INTS:
        raise EvalError(f"A list grows beyond {MAX_INTS} elements.")
    return (value,) * max(int(n), 0)


def prod(v: Ints) -> int:
    result = 1
    for value in v:
        result = mul(result, value)
    return result


def total(v: Ints) -> int:
    result = 0
    for value in v:
        result = add(result, value)
    return result


def min_of(v: Ints) -> int:
    if not v:
        raise EvalError("min() of an empty list.")
    return reduce(smallest, v)


def max_of(v: Ints) -> int:
    if not v:
        raise EvalError("max() of an empty list.")
    return reduce(largest, v)


def _padding(v: Ints, n: int, value: int) -> Ints:
    if len(v) > n:
        raise EvalError(f"A list of {len(v)} does not fit {n}.")
    return fill(int(n) - len(v), value)


def pad_left(v: Ints, n: int, value: int) -> Ints:
    return ints(_padding(v, n, value) + v)


def pad_right(v: Ints, n: int, value: int) -> Ints:
    return ints(v + _padding(v, n, value))


def replace(v: Ints, i: int, value: int) -> Ints:
    index(v, i)
    at = int(i) % len(v)
    return (*v[:at], value, *v[at + 1 :])


def insert(v: Ints, i: int, value: int) -> Ints:
    """Inserts `value` before element i; i = len(v) appends, negative i counts from the end."""
    if not -len(v) <= i <= len(v):
        raise EvalError(f"Index ({i}) is out of range of a list of {len(v)}.")
    at = int(i) + len(v) if i < 0 else int(i)
    return ints((*v[:at], value, *v[at:]))


def remove(v: Ints, indices: Ints) -> Ints:
    removed = {int(i) % len(v) for i in indices if index(v, i) is not None}
    return tuple(value for i, value in enumerate(v) if i not in removed)


def contains(value: int, v: Ints) -> bool:
    return value in v


def wrap(dim: int, rank: int) -> int:
    if not -rank <= dim < rank:
        raise EvalError(f"Dim ({dim}) is out of range of rank {rank}.")
    return dim + rank if dim < 0 else dim


def wrap_all(dims: Ints, rank: int) -> Ints:
    result: list[int] = []
    for dim in dims:
        wrapped = wrap(dim, rank)
        if wrapped in result:
            raise EvalError(f"Dim ({wrapped}) is repeated.")
        result.append(wrapped)
    return tuple(result)


def broadcast(a: Ints, b: Ints) -> Ints:
    rank = max(len(a), len(b))
    result = []
    for x, y in zip(pad_left(a, rank, 1), pad_left(b, rank, 1), strict=True):
        if isinstance(x, SymInt) or isinstance(y, SymInt):
            result.append(_broadcast_symbolic(x, y))
            continue
        if x != y and x != 1 and y != 1:
            raise EvalError(f"Shapes {list(a)} and {list(b)} do not broadcast.")
        result.append(y if x == 1 else x)
    return tuple(result)


def _broadcast_symbolic(x: int, y: int) -> int:
    """The size of two that broadcast at all sizes of the symbols."""
    for one, other in ((x, y), (y, x)):
        if not isinstance(one, SymInt) and one == 1:
            return other
    if x == y:
        return x
    raise EvalError(f"Sizes {x} and {y} do not broadcast.")


def strides(shape: Ints) -> Ints:
    if not shape:
        return ()
    result = [1]
    for size in reversed(shape[1:]):
        result.append(mul(result[-1], size))
    return tuple(reversed(result))


def broadcast_strides(shape: Ints, out: Ints) -> Ints:
    missing = len(out) - len(shape)
    pairs = list(zip(shape, out[max(missing, 0) :], strict=False))
    if missing < 0 or any(n != m for n, m in pairs if type(n) is not int or n != 1):
        raise EvalError(f"Shape {list(shape)} does not broadcast to {list(out)}.")
    dense = strides(shape)
    return (0,) * missing + tuple(
        0 if type(n) is int and n == 1 and not (type(m) is int and m == 1) else stride
        for (n, m), stride in zip(pairs, dense, strict=True)
    )


def at(tensors: Sequence[TensorType], i: int) -> TensorType:
    if not -len(tensors) <= i < len(tensors):
        raise EvalError(f"Index ({i}) is out of range of a list of {len(tensors)}.")
    return tensors[int(i)]


def alike(tensors: Sequence[TensorType], dim: int) -> bool:
    def others(shape: Ints) -> list[int | None]:
        return [None if d == dim else n for d, n in enumerate(shape)]

    return all(others(x.shape) == others(tensors[0].shape) for x in tensors)


def sum_dims(tensors: Sequence[TensorType], dim: int, count: int) -> int:
    result = 0
    for k in range(int(count)):
        result = add(result, index(at(tensors, k).shape, dim))
    return result


INT32_MIN, INT32_MAX = -2147483648.0, 2147483647.0


def as_number(value: float, dtype: DType) -> float:
    """A `number` argument for kernels of a dtype: saturated to int32 in integer kernels.

    Raises EvalError for NaN in integer kernels.
    """
    if dtype.is_float:
        return value
    if dtype is DType.B8:
        return int(value != 0)
    return to_int(smaller(larger(value, INT32_MIN), INT32_MAX))
