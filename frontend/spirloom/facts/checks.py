"""The check of each fact: returns how a call contradicts it, or an empty text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from spec_model import ArgType, Op, TensorType
from spec_model.interval import EVERYTHING, of_type
from spec_model.output_bounds import output_bounds
from spec_model.spec import Output
from spec_model.traits import MOVEMENT, Trait
from spirloom.casegen.arrays import value_of
from spirloom.casegen.case_pack import NamedArray
from spirloom.casegen.values import widened
from spirloom.facts.calls import Call
from spirloom.ir import Array, DType

_LARGEST = float(np.finfo(np.float16).max)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that some operators declare, and its check. `shows`: whether a call contains what
    the fact is about, as some call must."""

    name: str
    declared: Callable[[Op], bool]
    contradiction: Callable[[Call], str]
    shows: Callable[[Call], bool] | None = None


def _outputs(call: Call) -> Iterator[tuple[Output, TensorType, Array]]:
    return zip(call.run.op.outputs, call.run.outputs, call.results, strict=True)


def _has_bounds(op: Op) -> bool:
    derived = op.traits.keys() & {Trait.SELECTS, Trait.RETURNS_INDICES}
    return any(op.bounds) or bool(derived) or any(y.fixed_dtype is DType.B8 for y in op.outputs)


def out_of_bounds(call: Call) -> str:
    """Results outside the bounds of their output, unrounded and rounded to its dtype. Bounds that
    exceed the dtype are not used."""
    found = output_bounds(call.run.op, call.types, {})
    for (output, tensor, result), bounds in zip(_outputs(call), found, strict=True):
        if bounds == EVERYTHING or not (
            tensor.dtype.is_float or bounds.within(of_type(tensor.dtype.numpy))
        ):
            continue
        values = np.ravel(result).astype(np.float64)
        if tensor.dtype in (DType.F32, DType.F16):
            with np.errstate(over="ignore"):
                values = np.concatenate([values, values.astype(tensor.dtype.numpy)])
        values = values[np.isfinite(values)]
        outside = values[(values < bounds.low) | (values > bounds.high)]
        fractions = values[values % 1 != 0] if bounds.integral else values[:0]
        if outside.size:
            return f"an element of {output.name} is {outside[0]:.9g}, not in {bounds}"
        if fractions.size:
            return f"an element of {output.name} is {fractions[0]:.9g}, no integer"
    return ""


def not_selected(call: Call) -> str:
    """Elements of results of the operator's dtype that are no elements of its inputs."""
    known = np.concatenate([np.ravel(x) for x in call.tensors()] or [np.zeros(0)])
    return _not_in(call, known)


def inexact(call: Call) -> str:
    """Elements that are none of the inputs' up to the sign, zero and number arguments."""
    numbers = [arg for arg in call.run.op.args if arg.type in (ArgType.NUMBER, ArgType.FLOAT)]
    given = np.array([0.0, *(cast(float, value_of(call.run, arg)) for arg in numbers)])
    read = [np.ravel(x).astype(np.float64) for x in call.tensors()]
    return _not_in(call, np.concatenate([*read, *(-x for x in read), given]))


def _not_in(call: Call, known: Array) -> str:
    has_nan = bool(np.isnan(known.astype(np.float64)).any())
    for output, _, result in _outputs(call):
        if output.fixed_dtype is None:
            is_nan = np.isnan(result.astype(np.float64))
            other = result[~(np.isin(result, known) | (is_nan & has_nan))]
            if other.size:
                return f"{output.name} has the element {other.flat[0]:.9g}, which no input has"
    return ""


def not_elementwise(call: Call) -> str:
    """Whether the results of reversed inputs, as vectors, are not the results in reverse."""
    shapes = [x.data.shape for arrays in call.inputs.values() for x in arrays]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        return f"shapes {shapes} do not broadcast"
    y, *more = call.results or [np.zeros(0)]
    if more or y.shape != shape:
        return f"the result has the shape {list(y.shape)}, not the broadcast {list(shape)}"

    def reverse(x: Array) -> Array:
        return np.broadcast_to(x, shape).reshape(-1)[::-1]

    def reversed_(x: NamedArray) -> NamedArray:
        return replace(x, data=reverse(x.data))

    given = {name: tuple(map(reversed_, arrays)) for name, arrays in call.inputs.items()}
    (found,) = call.results_of(given)
    same = np.array_equal(found, reverse(y), equal_nan=found.dtype.kind == "f")
    return "" if same else "elements of reversed inputs are not the elements in reverse"


def no_indices(call: Call) -> str:
    """Results of dtype i32 that are no indices of elements of the first tensor."""
    (first, *_) = (x.data for arrays in call.inputs.values() for x in arrays)
    for output, _, result in _outputs(call):
        if output.fixed_dtype is DType.I32 and (result < 0).any():
            return f"{output.name} has the index {result.min()}"
        if output.fixed_dtype is DType.I32 and (result >= max(first.size, 1)).any():
            return f"{output.name} has the index {result.max()} of {first.size} elements"
    return ""


def exceeds_float16(call: Call) -> str:
    """Results beyond float16."""
    for output, _, result in _outputs(call):
        if output.fixed_dtype is None:
            values = np.ravel(result).astype(np.float64)
            large = values[np.isfinite(values) & (abs(values) > _LARGEST)]
            if large.size:
                return f"{output.name} has the element {large[0]:.9g}"
    return ""


def no_leading_part(call: Call) -> str:
    """Whether the result for leading parts of the arguments is not the leading part of the result.

    All dimensions and ints of lists that have the same size get the same smaller size.
    """
    sizes = sorted({n for x in call.tensors(own=False) for n in x.shape if n > 1})
    for size in sizes:
        part = call.with_size(size, size // 2)
        if part is None:
            continue
        for (output, _, whole), found in zip(_outputs(call), part.results, strict=True):
            first = whole[tuple(slice(n) for n in found.shape)]
            if not np.array_equal(first, found, equal_nan=found.dtype.kind == "f"):
                return f"{output.name} at size {size // 2} is no leading part of that at {size}"
    return ""


def moved_elsewhere(call: Call) -> str:
    """Whether the result is not the strided copy that the formulas describe."""
    values = call.run.op.values(call.types)
    if any(name not in values for name in MOVEMENT):
        return ""
    split, strides, begin = (values[name] for name in MOVEMENT)
    (source, *_) = call.tensors(own=False)
    index = np.full(cast("tuple[int, ...]", split), begin, np.int64)
    for d, stride in enumerate(cast("tuple[int, ...]", strides)):
        steps = np.arange(index.shape[d]).reshape(-1, *(1,) * (index.ndim - d - 1))
        index += steps * stride
    if index.size and (index.min() < 0 or index.max() >= source.size):
        return f"it reads element {index.min()} to {index.max()} of {source.size}"
    moved = np.ravel(source)[np.ravel(index)]
    same = np.array_equal(moved, np.ravel(call.results[0]), equal_nan=moved.dtype.kind == "f")
    return "" if same else "the result is not the copy by split, source_strides and begin"


def not_a_view(call: Call) -> str:
    """Whether the result is not the range of the argument's elements that it is a view of."""
    op = call.run.op
    assert op.view_of is not None
    (source, *_) = call.inputs[op.args[op.view_of].name]
    first = op.offset_of_view(call.types)
    if first < 0:
        return ""
    (y,) = call.results
    part = np.ravel(source.data)[first : first + y.size].astype(y.dtype)
    same = np.array_equal(part, np.ravel(y), equal_nan=y.dtype.kind == "f")
    return "" if same else f"the result is not elements {first} to {first + y.size} of the argument"


@dataclass(frozen=True, slots=True)
class _Updated:
    """An output that is an updated copy of an argument, for two values of the argument, which have
    no element in common: the argument's elements and the output's."""

    output: str
    argument: str
    before: tuple[Array, Array]
    after: tuple[Array, Array]

    @property
    def kept(self) -> Array:
        """Which elements of the output are those of the argument."""
        return _equal(self.before[0], self.after[0]) & _equal(self.before[1], self.after[1])


def _updated(call: Call) -> Iterator[_Updated]:
    op = call.run.op
    for output, at in enumerate(op.in_place):
        if at is not None:
            name = op.args[at].name
            (item,) = call.inputs[name]
            other = replace(item, data=(item.data + 1).astype(item.data.dtype))
            after = call.results_of({**call.inputs, name: (other,)})
            before = (widened(item.data), widened(other.data))
            yield _Updated(
                op.outputs[output].name, name, before, (call.results[output], after[output])
            )


def not_in_place(call: Call) -> str:
    """Whether an output is no updated copy of its argument: has an element that is neither the
    argument's nor independent of the argument."""
    for y in _updated(call):
        mixed = ~y.kept & ~_equal(*y.after) & ~_equal(*y.before)
        if mixed.any():
            return f"an element of {y.output} is computed from elements of {y.argument}"
    return ""


def keeps_elements(call: Call) -> bool:
    """Whether each output that is an updated copy has elements of its argument."""
    return all(y.kept.any() for y in _updated(call))


def _equal(a: Array, b: Array) -> Array:
    return np.asarray((a == b) | ((a != a) & (b != b)))


def _trait(trait: Trait, contradiction: Callable[[Call], str]) -> Fact:
    def check(call: Call) -> str:
        return contradiction(call) if call.run.op.has_trait(trait, call.types) else ""

    return Fact(str(trait), lambda op: trait in op.traits, check)


FACTS = (
    Fact("bounds", _has_bounds, out_of_bounds),
    _trait(Trait.LEADING_PARTS, no_leading_part),
    _trait(Trait.SELECTS, not_selected),
    _trait(Trait.EXACT, inexact),
    _trait(Trait.ELEMENTWISE, not_elementwise),
    _trait(Trait.RETURNS_INDICES, no_indices),
    _trait(Trait.BOUNDED, exceeds_float16),
    _trait(Trait.MOVES_DATA, moved_elsewhere),
    Fact("view_of", lambda op: op.view_of is not None, not_a_view),
    Fact(
        "in_place",
        lambda op: op.in_place.count(None) < len(op.in_place),
        not_in_place,
        shows=keeps_elements,
    ),
)
