"""Graph construction: nodes completed from operator schemas, constants within a memory budget."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from spirloom.ir import ArgValue, Array, DType, Graph, Node, Tensor, constant, is_possible
from spirloom.leading_parts import keeps_leading_parts
from spirloom.number_expr import Number, from_expr, number_of
from spirloom.op_library import OpError, OpLibrary
from spirloom.sizes import SymInt, is_symbolic, maximum_shape, upper_shape
from spirloom.value_bounds import narrowed

TIMES_THE_MODEL = 8
DEFAULT_EXTRA = 1 << 30


class Budget:
    """Counts the memory of constants, once per buffer, however many arrays share it.

    A small model can request constants of any size, so their memory is limited in proportion to the
    size of the model.
    """

    def __init__(self, model_bytes: int, extra: int = DEFAULT_EXTRA) -> None:
        self._total = TIMES_THE_MODEL * model_bytes + extra
        self._used = 0
        self._owners: dict[int, Array] = {}  # kept alive, so that ids stay unique

    def hold(self, array: Array) -> None:
        """Counts an array that is kept. Raises OpError above the limit."""
        owner = _owner(array)
        if id(owner) not in self._owners:
            self.check(owner.shape, owner.itemsize)
            self._used += owner.nbytes
            self._owners[id(owner)] = owner

    def hold_free(self, array: Array) -> None:
        """Keeps an array of the model without counting it."""
        owner = _owner(array)
        self._owners[id(owner)] = owner

    def check(self, shape: Sequence[int], itemsize: int) -> None:
        """Raises OpError if another array of this shape would exceed the limit."""
        size = prod(shape) * itemsize
        if any(d < 0 for d in shape):
            raise OpError(f"it creates a constant of the impossible shape {list(shape)}")
        if self._used + size > self._total:
            raise OpError(
                f"it creates a constant of {size} bytes with shape {list(shape)}; together with "
                f"{self._used} bytes before it, this exceeds the limit of {self._total} bytes "
                "for constants computed at import. Raise the limit with --constants-limit MIB"
            )


def _owner(array: Array) -> Array:
    """The array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Builder:
    """Appends nodes to a graph. `name` is the source node that is being imported.

    `makers` maps each tensor to its producer. `budget` counts the constants.
    """

    def __init__(self, library: OpLibrary, graph: Graph, budget: Budget | None = None) -> None:
        self.library = library
        self.graph = graph
        self.budget = budget or Budget(model_bytes=0)
        self._permuted: dict[tuple[Tensor, tuple[int, ...]], Tensor] = {}
        self.name = ""
        self.makers: dict[Tensor, Node] = {}

    def emit(self, op: str, **args: object) -> Tensor:
        """Appends a call and returns its first output. Raises OpError if the call is invalid."""
        return self.emit_all(op, **args)[0]

    def emit_all(self, op: str, **args: object) -> tuple[Tensor, ...]:
        """Appends a call and returns all of its outputs. Raises OpError if the call is invalid."""
        values = self.library.complete(op, args)
        types = self.library.infer(op, values)
        for shape, _ in types:
            if not is_possible(shape):
                raise OpError(f"{op} would return the impossible shape {list(shape)}")
        outputs = tuple(Tensor(self.name, dtype, shape) for shape, dtype in types)
        if self._is_leading_part(op, values, outputs):
            return outputs
        node = Node(op, values, outputs, self.name)
        self.graph.nodes.append(node)
        self.makers.update(dict.fromkeys(outputs, node))
        return outputs

    def _is_leading_part(
        self, op: str, values: tuple[ArgValue, ...], outputs: tuple[Tensor, ...]
    ) -> bool:
        """Whether the result of a call of constants is the first elements of a constant at all
        sizes. Its values are then computed.
        """
        result, *more = outputs
        if more or not is_symbolic(result.shape):
            return False
        if maximum_shape(result.shape) != upper_shape(result.shape):
            return False
        tensors = [i for v in values for i in (v if isinstance(v, tuple) else (v,))
                   if isinstance(i, Tensor)]  # fmt: skip
        args = dict(zip(self.library.arg_names(op), values, strict=True))
        if not all(t.is_constant for t in tensors):
            return False
        if not keeps_leading_parts(self.library, op, args):
            return False
        given = {name: _at_maximum(value) for name, value in args.items() if value is not None}
        (array,) = self.library.compute(op, given)
        result.values = array.astype(result.dtype.numpy)
        self.budget.hold(result.values)
        return True

    def leading_part(self, array: Array, shape: tuple[int, ...]) -> Tensor:
        """A constant with a symbolic shape: the first elements of each dimension of an array of the
        shape `upper_shape(shape)`.
        """
        ours = narrowed(array)
        self.budget.hold(ours)
        largest = maximum_shape(shape)
        sliced = [dim for dim, size in enumerate(array.shape) if size != largest[dim]]
        own = tuple(array.shape[d] if d in sliced else size for d, size in enumerate(shape))
        part = constant(self.name, ours, own)
        for dim in sliced:  # not largest at the maximum sizes
            part = self.slice(part, dim, 0, shape[dim])
        return part

    def number(self, value: Number, dtype: DType, shape: tuple[int, ...] = ()) -> Tensor:
        """A tensor of one number, which may depend on sizes."""
        found = from_expr(number_of(value))
        result = self.emit("aten.full", size=shape, fill_value=found.value, dtype=str(dtype))
        node = self.makers[result]
        node.args = self.library.with_args(node, fill_value=found)
        return result

    def scalar(self, value: float, dtype: DType) -> Tensor:
        """A constant of rank 0. Raises OpError if the dtype cannot represent the value."""
        limits = np.iinfo(dtype.numpy) if dtype.numpy.kind in "iu" else None
        if limits and not (float(value).is_integer() and limits.min <= value <= limits.max):
            raise OpError(f"{value} is not representable in {dtype.long_name}")
        with np.errstate(over="ignore"):
            return self.constant(np.array(value, dtype=dtype.numpy))

    def constant(self, values: Array) -> Tensor:
        """A constant of a supported dtype."""
        return self._held(constant(f"{self.name}.constant", values))

    def _part(self, x: Tensor, data: Array) -> Tensor:
        """A constant of elements of x."""
        own = np.ascontiguousarray(data).reshape(data.shape)
        return self._held(Tensor(x.name, x.dtype, own.shape, own))

    def _held(self, made: Tensor) -> Tensor:
        assert made.data is not None
        self.budget.hold(made.data)
        return made

    def view(self, x: Tensor, size: Sequence[int]) -> Tensor:
        """A reshaped view with the same elements."""
        if x.shape == tuple(size):
            return x
        data = None if is_symbolic((*x.shape, *size)) else x.data
        if data is not None and data.size == prod(size) and min(size, default=0) >= 0:
            return self._part(x, data.reshape(tuple(size)))
        return self.emit("aten.view", x=x, size=tuple(size))

    def permute(self, x: Tensor, dims: Sequence[int]) -> Tensor:
        """The dimensions of x in another order."""
        if list(dims) == list(range(len(x.shape))):
            return x
        if (
            x.data is not None
            and not is_symbolic(x.shape)
            and sorted(dims) == list(range(len(x.shape)))
        ):
            key = (x, tuple(dims))
            if key not in self._permuted:
                self.budget.check(x.shape, x.data.itemsize)
                # A transposed array: large weights are not copied before they are written.
                transposed = np.transpose(x.data, key[1])
                self._permuted[key] = self._held(
                    Tensor(x.name, x.dtype, transposed.shape, transposed)
                )
            return self._permuted[key]
        return self.emit("aten.permute", x=x, dims=tuple(dims))

    def pad(self, x: Tensor, before: Sequence[int], after: Sequence[int], value: float) -> Tensor:
        """Pads x with a constant. Negative amounts crop."""
        for dim, (low, high) in enumerate(zip(before, after, strict=True)):
            if low < 0 or high < 0:
                x = self.slice(x, dim, max(-low, 0), x.shape[dim] - max(-high, 0))
        pairs = [(max(low, 0), max(high, 0)) for low, high in zip(before, after, strict=True)]
        while pairs and pairs[0] == (0, 0):
            pairs.pop(0)
        if not pairs:
            return x
        amounts = tuple(amount for pair in reversed(pairs) for amount in pair)
        return self.emit("aten.constant_pad_nd", x=x, pad=amounts, value=value)

    def slice(self, x: Tensor, dim: int, start: int, end: int, step: int = 1) -> Tensor:
        """Elements start, start + step, … (before end) of one dimension."""
        if dim >= len(x.shape):
            raise OpError(f"{x} has no dimension {dim}")
        if (start, end, step) == (0, x.shape[dim], 1):
            return x
        if x.data is not None and not is_symbolic((start, end, *x.shape)):
            part = x.data[(slice(None),) * dim + (slice(start, end, step),)]
            self.budget.check(part.shape, part.itemsize)
            return self._part(x, part)
        return self.emit("aten.slice.Tensor", x=x, dim=dim, start=start, end=end, step=step)

    def select(self, x: Tensor, dim: int, index: int) -> Tensor:
        """The elements at one index of a dimension, which is removed."""
        if x.data is not None and not is_symbolic((index, *x.shape)):
            part = x.data[(slice(None),) * dim + (index, ...)]
            self.budget.check(part.shape, part.itemsize)
            return self._part(x, part)
        return self.emit("aten.select.int", x=x, dim=dim, index=index)

    def cat(self, parts: Sequence[Tensor], dim: int) -> Tensor:
        """Concatenates tensors along a non-negative dimension."""
        if len(parts) == 1:
            return parts[0]
        known = [p.data for p in parts if p.data is not None and not is_symbolic(p.shape)]
        if len(known) == len(parts):
            self.budget.check([sum(a.size for a in known)], known[0].itemsize)
            try:
                return self.constant(np.concatenate(known, axis=dim))
            except ValueError as error:
                raise OpError(f"{', '.join(map(str, parts))} cannot be concatenated") from error
        return self.emit("aten.cat", tensors=tuple(parts), dim=dim)

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        """a + b, broadcasting."""
        return self.emit("aten.add.Tensor", a=a, b=b)

    def cast(self, x: Tensor, dtype: DType) -> Tensor:
        """x as another dtype."""
        return x if x.dtype is dtype else self.emit("aten._to_copy", x=x, dtype=str(dtype))

    def mul(self, a: Tensor, b: Tensor | float) -> Tensor:
        """a · b, broadcasting."""
        other = b if isinstance(b, Tensor) else self.scalar(b, a.dtype)
        return self.emit("aten.mul.Tensor", a=a, b=other)

    def reduce(self, op: str, x: Tensor, dims: Sequence[int], keepdim: bool = True) -> Tensor:
        """A reduction over explicit, non-negative dims. Returns x if there are none."""
        if not dims:
            return x
        return self.emit(op, x=x, dim=tuple(dims), keepdim=keepdim)


def _at_maximum(value: object) -> object:
    """An argument at the maximum sizes, with the arrays of constants."""
    if isinstance(value, Tensor):
        return value.data
    if isinstance(value, tuple):
        return tuple(map(_at_maximum, value))
    return maximum_shape((value,))[0] if isinstance(value, SymInt) else value


# The value of a name in a model: a constant known at import (in the model's dtype) or a tensor.
Value = Array | Tensor


class Lifter:
    """Converts constants to tensors, each once, so that shared constants stay shared.

    `rounds_float64`: float64 constants are rounded to float32, instead of refused.
    """

    def __init__(self, rounds_float64: bool = False) -> None:
        self._rounds_float64 = rounds_float64
        self._made: dict[int, tuple[Array, Tensor]] = {}

    def lift(self, builder: Builder, value: Value, name: str) -> Tensor:
        """The tensor of a value."""
        if isinstance(value, Tensor):
            return value
        if id(value) not in self._made:
            tensor = builder.constant(narrowed(value, self._rounds_float64))
            tensor.name = name
            self._made[id(value)] = (value, tensor)
        return self._made[id(value)][1]
