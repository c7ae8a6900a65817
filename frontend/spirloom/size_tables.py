"""Values of a size at each size of its symbol, and formulas of tables: exact at all sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from spec_model.symbolic import Size, maximum, minimum, size_of, sym
from spec_model.symbolic.bounds import range_of
from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.number_expr import Number, SymFloat
from spirloom.sizes import SymInt

MAX_VALUES = 1 << 16
_MAX_STEPS = 8  # of a table that is not linear
_DIVISORS = (*range(1, 65), 128, 256, 512, 1024)


def tables(values: Sequence[Number]) -> tuple[SymInt, list[Array]]:
    """An index, and the values at each index; a constant has one value. One of them must depend on
    sizes. Raises Unsupported if they depend on several symbols, or if there are too many values.
    """
    exprs = {size_of(leaf) for value in values for leaf in _leaves(value)}
    symbols = frozenset().union(*(expr.symbols for expr in exprs))
    if len(symbols) == 1:
        (symbol,) = symbols
        index = sym(symbol) - symbol.min
        _check(symbol.max - symbol.min + 1, symbol)
        points = [{symbol.name: size} for size in range(symbol.min, symbol.max + 1)]
        columns = {expr: np.array([expr.value(point) for point in points]) for expr in exprs}
    elif len(exprs) == 1:
        (expr,) = exprs
        bounds = range_of(expr)
        index = sym(expr) - bounds.low
        _check(bounds.high - bounds.low + 1, expr)
        columns = {expr: np.arange(bounds.low, bounds.high + 1)}
    else:
        raise Unsupported(f"it computes with several symbolic sizes, {', '.join(map(str, exprs))}")
    assert isinstance(index, SymInt)
    return index, [_table(value, columns) for value in values]


def _leaves(value: Number) -> list[SymInt]:
    if isinstance(value, SymFloat):
        return [leaf for leaf in value.expr.leaves() if isinstance(leaf, SymInt)]
    return [value] if isinstance(value, SymInt) else []


def _table(value: Number, columns: Mapping[Size, Array]) -> Array:
    if isinstance(value, SymFloat):
        found = value.expr.evaluate(lambda leaf: columns[size_of(leaf)])  # type: ignore[arg-type]
        return np.asarray(found)
    return columns[size_of(value)] if isinstance(value, SymInt) else np.asarray([value])


def _check(count: int, what: object) -> None:
    if count > MAX_VALUES:
        raise Unsupported(
            f"it computes with {what}, which has {count} values; at most {MAX_VALUES} are supported"
        )


def by_table(values: Sequence[Number], function: Callable[[Sequence[Array]], Array]) -> int | float:
    """The result of a function of the values, which must have a formula. The function computes it
    for arrays of the values at all sizes. Raises Unsupported as `tables`, and without a formula.
    """
    index, columns = tables(values)
    found = formula_of(index, function(columns))
    if found is None:
        raise Unsupported(f"its result has no formula of {index}")
    return found


def formula_of(index: int, values: Array) -> int | float | None:
    """The element `values[index]`: a constant, or for integers, which may have a float type,
    (a · index + b) // d with a small d, or a function with few steps. None for others.
    """
    items = values.tolist()
    if len(items) == 1 or all(item == items[0] for item in items):
        return items[0]  # type: ignore[no-any-return]
    if not (np.abs(values.astype(np.float64)) < 1 << 53).all() or (values != np.rint(values)).any():
        return None
    table = values.astype(np.int64)
    found = _linear(index, table)
    return _steps(index, table) if found is None else found


def _linear(index: int, table: Array) -> int | None:
    at = np.arange(len(table), dtype=np.int64)
    slope = (int(table[-1]) - int(table[0])) / (len(table) - 1)
    for divisor in _DIVISORS:
        if divisor > len(table):
            break
        for factor in {int(np.floor(slope * divisor)), int(np.ceil(slope * divisor))}:
            offsets = divisor * table - factor * at
            low, high = int(offsets.max()), int(offsets.min()) + divisor - 1
            if low <= high:
                found: int = (factor * index + low) // divisor
                return found
    return None


def _steps(index: int, table: Array) -> int | None:
    changes = np.flatnonzero(np.diff(table))
    if len(changes) > _MAX_STEPS:
        return None
    found = int(table[0])
    for change in changes.tolist():  # 1 from the next index on
        step = minimum(maximum(index - change, 0), 1)
        found = found + int(table[change + 1] - table[change]) * step
    return found
