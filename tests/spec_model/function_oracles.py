"""What the functions and operators of specs compute, by Python, fractions and NumPy: independent of
spec_model/expr/semantics.py. A call without a value raises an exception."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np

from spec_model.expr.types import TensorType

Ints = tuple[int, ...]
T = TypeVar("T")


def in_64_bits(value: Any) -> Any:
    """The value. Raises OverflowError if an int does not fit 64 bits."""
    if isinstance(value, int):
        return int(np.int64(value)) if type(value) is int else value
    return value


def accumulated(step: Callable[[int, int], int], start: int) -> Callable[[Ints], int]:
    def result(v: Ints) -> int:
        total = start
        for value in v:
            total = in_64_bits(step(total, value))
        return total

    return result


def int_of(a: float) -> int:
    return int(in_64_bits(math.trunc(a)))


def float_bits(a: float) -> int:
    with np.errstate(all="ignore"):
        return 0x7FC00000 if a != a else int(np.float32(a).view(np.int32))


def divided(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


def checked(is_valid: bool, value: T) -> T:
    if not is_valid:
        raise ValueError
    return value


def dims(values: Ints, rank: int) -> Ints:
    found = [range(rank)[dim] for dim in values]
    return checked(len({*found}) == len(found), tuple(found))


prod = accumulated(lambda a, b: a * b, 1)


def dense_strides(shape: Ints) -> Ints:
    return tuple(prod(shape[:d:-1]) for d in range(len(shape)))


def broadcast(*shapes: Ints) -> Ints:
    """By the rule of NumPy, which supports less dimensions and elements."""
    columns = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
    found = [{*column} - {1} or {1} for column in columns]
    return tuple(checked(len(sizes) == 1, sizes.pop()) for sizes in reversed(found))


def broadcast_strides(shape: Ints, out: Ints) -> Ints:
    at = len(out) - len(shape)
    checked(at >= 0 and broadcast(shape, out) == out, None)
    sizes = zip(dense_strides(shape), shape, out[at:], strict=True)
    return (0,) * at + tuple(stride * (n == m) for stride, n, m in sizes)


def filled(n: int, value: int) -> Ints:
    return (value,) * checked(n <= 64, n)


def padding(v: Ints, n: int, value: int) -> Ints:
    return filled(checked(len(v) <= n, n) - len(v), value)


def replaced(v: Ints, i: int, value: int) -> Ints:
    found = [*v]
    found[i] = value
    return tuple(found)


def inserted(v: Ints, i: int, value: int) -> Ints:
    found = [*v]
    found.insert(i, value)
    return checked(-len(v) <= i <= len(v), tuple(found))


def removed(v: Ints, indices: Ints) -> Ints:
    return tuple(np.delete(np.array(v, object), [range(len(v))[i] for i in indices]))


def alike(xs: Sequence[TensorType], dim: int) -> bool:
    def others(shape: Ints) -> Ints:
        return shape if not 0 <= dim < len(shape) else (*shape[:dim], -1, *shape[dim + 1 :])

    return len({others(x.shape) for x in xs}) <= 1


def sum_dims(xs: Sequence[TensorType], dim: int, count: int) -> int:
    return sum(xs[k].shape[dim] for k in range(count))


# By name in specs; operators by their symbols.
ORACLES: dict[str, Callable[..., Any]] = {
    "len": len,
    "prod": prod,
    "sum": accumulated(lambda a, b: a + b, 0),
    "abs": abs,
    "ceil_div": lambda a, b: math.ceil(Fraction(a, b)),
    "round_up": lambda a, b: in_64_bits(math.ceil(Fraction(a, b))) * b,
    "int": int_of,
    "float": float,
    "float_bits": float_bits,
    "range": lambda n: tuple(range(checked(n <= 64, n))),
    "fill": filled,
    "numel": lambda x: prod(x.shape),
    "wrap": lambda dim, rank: range(rank)[dim],
    "wrap_all": dims,
    "broadcast": broadcast,
    "strides": dense_strides,
    "broadcast_strides": broadcast_strides,
    "pad_left": lambda v, n, value: padding(v, n, value) + v,
    "pad_right": lambda v, n, value: v + padding(v, n, value),
    "replace": replaced,
    "insert": inserted,
    "remove": removed,
    "sum_dims": sum_dims,
    "alike": alike,
    "present": lambda x: x.present,
    "nchw": lambda v: padding(v, 4, 1) + v,
    "min": min,
    "max": max,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": divided,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "neg": lambda a: -a,
    "in": lambda a, v: a in v,
    "[]": lambda v, i: v[i],
    "[:]": lambda v, begin, end: v[begin:end],
}
