"""Evaluates ONNX nodes of arrays that depend on symbolic sizes.

A result is a formula of the sizes: of integers, or of numbers in double precision. A function
without formula is computed at all sizes of its symbol, by the evaluators of constant folding; its
result must have a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from spec_model.symbolic import SizeError, maximum, minimum, size_of
from spec_model.symbolic.bounds import range_of
from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.number_expr import (
    Number,
    NumberOp,
    SymFloat,
    computed,
    truncated,
)
from spirloom.onnx import moved_shapes
from spirloom.onnx.constant_folding.registry import EVALUATORS
from spirloom.onnx.constant_folding.registry import fold as fold_arrays
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import array_of
from spirloom.onnx.narrowing import output_type
from spirloom.onnx.size_arrays import (
    Condition,
    Element,
    Known,
    LeadingPart,
    SizeArray,
    elements_of,
    is_size_dependent,
    of_shape,
    size_array,
    value_of,
)
from spirloom.onnx.size_formulas import FORMULAS, NUMBERS, ROUNDED, Formula
from spirloom.size_tables import by_table
from spirloom.sizes import SymInt, broadcast_shapes, is_symbolic, upper_shape

Given = Sequence[Array | SizeArray]

# Operators that move elements, and the inputs whose elements they move.
_MOVED: dict[str, Sequence[int]] = {
    "Concat": range(1 << 16),
    "Expand": (0,),
    "Flatten": (0,),
    "Gather": (0,),
    "Identity": (0,),
    "Reshape": (0,),
    "ScatterND": (0, 2),
    "Shape": (0,),
    "Size": (0,),
    "Slice": (0,),
    "Split": (0,),
    "Squeeze": (0,),
    "Tile": (0,),
    "Transpose": (0,),
    "Unsqueeze": (0,),
}


def fold(ctx: NodeContext, inputs: Sequence[Known | None]) -> list[Known] | None:
    """The outputs of a node with inputs that depend on sizes. None if it is converted instead."""
    parts = [v for v in inputs if isinstance(v, np.ndarray | LeadingPart)]
    if len(parts) == len(inputs) and any(isinstance(v, LeadingPart) for v in parts):
        return _of_parts(ctx, parts)
    given = [v for v in inputs if isinstance(v, np.ndarray | SizeArray)]
    if len(given) != len([v for v in inputs if v is not None]):
        return None
    if not any(isinstance(v, SizeArray) for v in given):
        return None
    if ctx.op_type in _MOVED:
        return _moved(ctx, given, _MOVED[ctx.op_type])
    if ctx.op_type in _RULES:
        return [_RULES[ctx.op_type](ctx, given)]
    if ctx.op_type in _REDUCED:
        return [_reduced(ctx, given[0])]
    return [_elementwise(ctx, given)] if ctx.op_type in _ELEMENTWISE else None


def _of_parts(ctx: NodeContext, given: Sequence[Array | LeadingPart]) -> list[Known] | None:
    """The result of an operator whose result has the first elements of each dimension wherever its
    operands do. None for other operators.
    """
    first = given[0]
    if ctx.op_type == "NonZero" and isinstance(first, LeadingPart):
        if first.ndim != 1 or not first.array.all():
            return None
        return [LeadingPart(np.arange(first.array.size).reshape(1, -1), (1, *first.shape))]
    if ctx.op_type == "Shape":
        return [of_shape(moved_shapes.shape_slice(ctx, first.shape))]
    arrays = [v.array if isinstance(v, LeadingPart) else v for v in given]
    if ctx.op_type == "Unsqueeze" and isinstance(first, LeadingPart):
        shape = tuple(moved_shapes.unsqueezed(ctx, first.shape))
    elif ctx.op_type == "Transpose":
        shape = tuple(first.shape[d] for d in moved_shapes.permutation(ctx, first.ndim))
    elif ctx.op_type == "Gather" and isinstance(first, np.ndarray):
        axis = ctx.axis(ctx.integer("axis", 0), first.ndim)
        shape = (*first.shape[:axis], *given[1].shape, *first.shape[axis + 1 :])
    elif ctx.op_type in _ELEMENTWISE and ctx.op_type != "Clip":
        shape = broadcast_shapes(*(v.shape for v in given))
    else:
        return None
    (found,) = fold_arrays(ctx, arrays)
    return [LeadingPart(found, shape)] if found.shape == upper_shape(shape) else None


def _moved(ctx: NodeContext, given: Given, positions: Sequence[int]) -> list[Known] | None:
    arrays: list[Array] = []
    for index, value in enumerate(given):
        if index in positions:
            arrays.append(value.elements if isinstance(value, SizeArray) else value.astype(object))
        elif isinstance(value, SizeArray):
            return None
        else:
            arrays.append(value)
    found = fold_arrays(ctx, arrays)
    dtype = given[0].dtype
    return [size_array(r.reshape(-1), r.shape, dtype) if r.dtype == object else r for r in found]


def _elementwise(ctx: NodeContext, given: Given) -> Known:
    shape = np.broadcast_shapes(*(value.shape for value in given))
    ctx.check_size(shape, 8)
    dtypes = [value.dtype for value in given]
    columns = [np.broadcast_to(_objects(value), shape).reshape(-1) for value in given]
    rule = FORMULAS.get(ctx.op_type)
    result = output_type(ctx, 0, dtypes) or np.dtype(np.bool_)

    def evaluated(*row: Element) -> Element:
        found = None if rule is None else _by_formula(rule, ctx, row, result)
        return _other_formula(ctx, row, dtypes, result) if found is None else found

    return size_array(map(evaluated, *columns), shape, result)


def _other_formula(
    ctx: NodeContext, row: Sequence[Element], dtypes: list[np.dtype[Any]], result: np.dtype[Any]
) -> Element:
    """The result as a formula of numbers, or of integers if it is a rounded number. Raises
    Unsupported.
    """
    numbers = [value_of(e) for e in row]
    rounds = ctx.op_type in ("Ceil", "Floor", "Round") or (
        ctx.op_type in ("Cast", "CastLike") and result.kind in "iub"
    )
    has_formula = ctx.op_type in NUMBERS and (result in ROUNDED or (result.kind in "iu" and rounds))
    if has_formula and not rounds:
        return ROUNDED[result](NUMBERS[ctx.op_type](*numbers))
    try:
        return _by_table(lambda x: _evaluated(ctx, x), row, dtypes)
    except Unsupported:
        if not has_formula:
            raise
    found = NUMBERS[ctx.op_type](*numbers)
    return truncated(found) if result.kind in "iu" and isinstance(found, SymFloat) else found


def _objects(value: Array | SizeArray) -> Array:
    return value.elements if isinstance(value, SizeArray) else value.astype(object)


def _evaluated(ctx: NodeContext, arrays: list[Array]) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(EVALUATORS[ctx.op_type](ctx, arrays))


def _by_table(
    function: Callable[[list[Array]], Array],
    row: Sequence[Element],
    dtypes: Sequence[np.dtype[Any]],
) -> Element:
    """The result of a function of arrays of these types, as a formula. Raises Unsupported."""
    return by_table(
        [value_of(e) for e in row],
        lambda columns: function([c.astype(d) for c, d in zip(columns, dtypes, strict=True)]),
    )


def _by_formula(
    rule: Formula, ctx: NodeContext, row: Sequence[Element], dtype: np.dtype[Any]
) -> Element | None:
    """The result of a formula of integers. None if there is none, or if the type of the result
    would round it.
    """
    if ctx.op_type == "Where":
        if not is_size_dependent(row[0]):
            return row[1] if row[0] else row[2]
        if (extreme := _extreme(*row)) is not None:
            return extreme
    if ctx.op_type == "Not" and isinstance(row[0], Condition):
        return row[0].negated()
    ints = [_as_integer(e) for e in row]
    if not all(isinstance(e, int) for e in ints):
        return None
    try:
        found = rule(ctx, [e for e in ints if isinstance(e, int)])
    except SizeError:
        return None
    if isinstance(found, SymInt) and dtype.kind in "iuf":
        bounds = range_of(found.size)
        low, high = _LIMITS[dtype.kind](dtype)
        if not low <= bounds.low <= bounds.high <= high:
            return None
    if isinstance(found, int) and not is_size_dependent(found):
        return dtype.type(found).item()  # type: ignore[no-any-return]
    return found


def _float_limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    exact = 2 << np.finfo(dtype).nmant
    return -exact, exact


def _int_limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


_LIMITS = {"f": _float_limits, "i": _int_limits, "u": _int_limits}


def _as_integer(element: Element) -> Number:
    """The element as an integer, if it is one at all sizes. True is 1."""
    element = value_of(element)
    is_integer = isinstance(element, bool) or (isinstance(element, float) and element.is_integer())
    return int(element) if is_integer else element  # type: ignore[arg-type]


def _extreme(condition: Element, a: Element, b: Element) -> Element | None:
    """The selected element as a minimum or maximum, if the condition compares the elements."""
    if not (isinstance(condition, Condition) and isinstance(a, int) and isinstance(b, int)):
        return None
    difference, own = size_of(a) - size_of(b), condition.difference
    if difference not in (own, -own):
        return None
    if condition.relation in ("==", "!="):
        return b if condition.relation == "==" else a
    return (maximum if (condition.relation[0] == ">") == (difference == own) else minimum)(a, b)


_ELEMENTWISE = FORMULAS.keys() | {"Exp", "Log", "Reciprocal", "Sign", "Sqrt"}

_REDUCED: dict[str, tuple[str, Callable[..., Any]]] = {
    "ReduceMax": ("Max", np.maximum),
    "ReduceMin": ("Min", np.minimum),
    "ReduceProd": ("Mul", np.multiply),
    "ReduceSum": ("Add", np.add),
}


def _reduced(ctx: NodeContext, x: Array | SizeArray) -> Known:
    axes, noop = ctx.axes_argument() or [], ctx.integer("noop_with_empty_axes", 0)
    keep = bool(ctx.integer("keepdims", 1))
    if noop and not axes:
        return x
    dims = ctx.axes(axes, x.ndim) if axes else list(range(x.ndim))
    others = [d for d in range(x.ndim) if d not in dims]
    kept = [x.shape[d] for d in others]
    if 0 in x.shape:
        raise Unsupported("it reduces an empty array")
    rows = np.transpose(_objects(x), [*others, *dims]).reshape(max(1, int(np.prod(kept))), -1)
    name, function = _REDUCED[ctx.op_type]
    dtypes = [x.dtype, x.dtype]

    def step(a: Element, b: Element) -> Element:
        found = _by_formula(FORMULAS[name], ctx, (a, b), x.dtype)
        return (
            _by_table(lambda t: np.asarray(function(*t)), (a, b), dtypes)
            if found is None
            else found
        )

    shape = [1 if d in dims else x.shape[d] for d in range(x.ndim)] if keep else kept
    return size_array([reduce(step, row) for row in rows], shape, x.dtype)


def _constant_of_shape(ctx: NodeContext, given: Given) -> Known:
    shape = tuple(ctx.constant_ints(0) or ())
    value = np.zeros(1, np.float32)
    if ctx.has("value"):
        value = array_of(ctx.attribute("value").t, "its value").reshape(-1)
    most = upper_shape(shape)
    ctx.check_size(most, value.itemsize)
    return LeadingPart(np.full(most, value[0], value.dtype), shape)


def _range(ctx: NodeContext, given: Given) -> Known:
    start, limit, delta = (value_of(elements_of(value)[0]) for value in given)
    dtype = given[0].dtype
    if isinstance(delta, SymInt | SymFloat) or delta == 0:
        raise Unsupported(f"its delta {delta} depends on a size, or is 0")
    count = _count(start, limit, delta, dtype)
    if not is_symbolic((count,)):
        ctx.check_size([count], 8)
        return size_array([_sum(start, i * delta, dtype) for i in range(count)], [count], dtype)
    (most,) = upper_shape((count,))
    ctx.check_size([most], dtype.itemsize)
    steps = np.arange(most) * delta
    if not isinstance(start, SymInt | SymFloat):
        return LeadingPart((start + steps).astype(dtype), (count,))
    offsets = ctx.lifted(LeadingPart(steps.astype(dtype), (count,)))
    return ctx.build.add(ctx.lifted(size_array([start], [], dtype)), offsets)


def _count(start: Element, limit: Element, delta: Element, dtype: np.dtype[Any]) -> int:
    """The number of elements of a Range."""
    ints = [int(e) if isinstance(e, float) and e.is_integer() else e for e in (start, limit, delta)]
    first, last, step = ints
    if isinstance(first, int) and isinstance(last, int) and isinstance(step, int):
        span, by = (last - first, step) if step > 0 else (first - last, -step)
        return maximum(-(-span // by), 0)
    found = _by_table(
        lambda x: np.maximum(np.ceil((x[1] - x[0]) / x[2]), 0).astype(np.int64),
        (start, limit, delta),
        [dtype] * 3,
    )
    if not isinstance(found, int):
        raise Unsupported("the number of its elements has no formula of the sizes")
    return found


def _sum(a: Number, b: float, dtype: np.dtype[Any]) -> Number:
    """a + b, for an a that depends on sizes."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if dtype not in ROUNDED:
        raise Unsupported(f"it computes {dtype} values with a size")
    return ROUNDED[dtype](computed(NumberOp.ADD, a, b))


_RULES: dict[str, Callable[[NodeContext, Given], Known]] = {
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
}
