"""Values by name during an ONNX import: tensors, constants, sequences, stacked and split values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from onnx import ModelProto, TensorProto

from spirloom.builder import Budget, Value
from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import array_of
from spirloom.onnx.shape_inference import ModelInference
from spirloom.onnx.size_arrays import Known


def select(ctx: NodeContext, x: Value, axis: int, index: int, keep: bool = False) -> Value:
    """The elements at one index of an axis. With `keep`, the axis is kept with size 1."""
    if not isinstance(x, Tensor):
        return np.asarray(np.take(x, [index] if keep else index, axis=axis))
    if keep:
        return ctx.build.slice(x, axis, index, index + 1)
    return ctx.build.select(x, axis, index)


def stacked(ctx: NodeContext, parts: Sequence[Known], axis: int) -> Value:
    """Stacks values of one shape along a new axis."""
    shape = parts[0].shape
    if any(item.shape != shape for item in parts):
        raise Unsupported("it stacks values of different shapes")
    if all(isinstance(item, np.ndarray) for item in parts):
        arrays = [np.asarray(item) for item in parts]
        ctx.check_size([len(parts), *shape], arrays[0].itemsize)
        return np.asarray(np.stack(arrays, axis))
    full = [*shape[:axis], 1, *shape[axis:]]
    return ctx.build.cat([ctx.build.view(ctx.lifted(item), full) for item in parts], axis)


ValueList = tuple[Known, ...]
ValueOrList = Known | ValueList  # a named value of a graph
Handler = Callable[[NodeContext, ValueList], ValueOrList]


def handles(op_type: str, inputs: Sequence[ValueOrList | None]) -> bool:
    """Whether a node produces or reads a sequence."""
    reads = bool(inputs) and isinstance(inputs[0], tuple)
    return op_type in _PRODUCERS or (reads and op_type in _CONSUMERS)


def result(ctx: NodeContext, inputs: Sequence[ValueOrList | None]) -> ValueOrList:
    """The output of such a node."""
    if ctx.op_type in _PRODUCERS:
        return _PRODUCERS[ctx.op_type](ctx, tuple(v for v in only_values(inputs) if v is not None))
    assert isinstance(inputs[0], tuple)
    return _CONSUMERS[ctx.op_type](ctx, inputs[0])


def only_values(inputs: Sequence[ValueOrList | None]) -> list[Known | None]:
    """The inputs of a node. Raises Unsupported for sequences."""
    values: list[Known | None] = []
    for given in inputs:
        if isinstance(given, tuple):
            raise Unsupported("its input is a sequence; only tensors are supported")
        values.append(given)
    return values


def _split(ctx: NodeContext, inputs: ValueList) -> ValueOrList:
    x = ctx.value(0)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    if not x.shape:
        raise Unsupported("a scalar cannot be split")
    sizes, length = ctx.constant(1), x.shape[axis]
    if sizes is None:
        keep = bool(ctx.integer("keepdims", 1))
        return tuple(select(ctx, x, axis, index, keep) for index in range(length))
    if sizes.ndim == 0:
        step = int(sizes)
        if step < 1:
            raise Unsupported(f"its split size {step} is not positive")
        ends = [*range(step, length, step), length]
    else:
        ends = np.cumsum(sizes).tolist()
    starts = [0, *ends[:-1]]
    if ends[-1:] != [length] or any(a > b for a, b in zip(starts, ends, strict=True)):
        raise Unsupported(f"its split sizes {sizes.tolist()} do not add up to {length}")
    return tuple(_cut(ctx, x, axis, *ends_) for ends_ in zip(starts, ends, strict=True))


def _cut(ctx: NodeContext, x: Value, axis: int, start: int, end: int) -> Value:
    if isinstance(x, Tensor):
        return ctx.build.slice(x, axis, start, end)
    return np.asarray(np.take(x, range(start, end), axis=axis))


def _insert(ctx: NodeContext, items: ValueList) -> ValueOrList:
    index = _index(ctx.constant_ints(2), len(items), len(items), len(items) + 1)
    return (*items[:index], ctx.value(1), *items[index:])


def _erase(ctx: NodeContext, items: ValueList) -> ValueOrList:
    index = _index(ctx.constant_ints(1), len(items) - 1, len(items), len(items))
    return (*items[:index], *items[index + 1 :])


def _at(ctx: NodeContext, items: ValueList) -> ValueOrList:
    return items[_index(ctx.constant_ints(1), 0, len(items), len(items))]


def _index(given: list[int] | None, default: int, length: int, count: int) -> int:
    """An index less than `count`. Negative indices count from the end of the sequence."""
    index = given[0] if given else default
    wrapped = index + length if index < 0 else index
    if not 0 <= wrapped < count:
        raise Unsupported(f"its index {index} is out of range for a sequence of length {length}")
    return wrapped


def _concat(ctx: NodeContext, items: ValueList) -> ValueOrList:
    if not items:
        raise Unsupported("its sequence is empty")
    rank, new = len(items[0].shape), bool(ctx.integer("new_axis", 0))
    axis = ctx.axis(ctx.integer("axis", 0), rank + new)
    if new:
        return stacked(ctx, items, axis)
    return ctx.build.cat([ctx.lifted(item) for item in items], axis)


_PRODUCERS: dict[str, Handler] = {
    "SequenceConstruct": lambda ctx, inputs: inputs,
    "SequenceEmpty": lambda ctx, inputs: (),
    "SplitToSequence": _split,
}
_CONSUMERS: dict[str, Handler] = {
    "ConcatFromSequence": _concat,
    "Identity": lambda ctx, items: items,
    "SequenceAt": _at,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": lambda ctx, items: np.array(len(items), np.int64),
}


class UnknownValue(Exception):
    """The value depends on an unsupported node."""


class Values:
    """Values by name. Outputs of unsupported nodes have inferred types, so that all problems are
    found.
    """

    def __init__(self, model: ModelProto, inputs: list[Tensor], budget: Budget) -> None:
        self._budget = budget
        self.inference = ModelInference(model, inputs)
        self._initializers: dict[str, TensorProto] = {}
        self._known: dict[str, ValueOrList | None] = {t.name: t for t in inputs}
        self.declare(model.graph.initializer)

    def declare(self, initializers: Iterable[TensorProto]) -> None:
        """Adds constants, which are decoded on first use."""
        self._initializers.update({t.name: t for t in initializers})

    def __setitem__(self, name: str, value: ValueOrList | None) -> None:
        """Sets a value. None: the output of an unsupported node."""
        self._known[name] = value

    def __getitem__(self, name: str) -> ValueOrList | None:
        """The value of a name. None for the empty name (absent). Raises UnknownValue."""
        if not name:
            return None
        if name not in self._known:
            self._known[name] = self._decoded(name)
        if self._known[name] is None:
            self._known[name] = self.inference.get(name)
        value = self._known[name]
        if value is None:
            raise UnknownValue
        return value

    def known(self, name: str) -> ValueOrList | None:
        """The value of a name. None if it is unknown or invalid."""
        try:
            return None if self._known.get(name, "") is None else self[name]
        except (UnknownValue, Unsupported):
            return None

    def of(self, names: Iterable[str]) -> list[ValueOrList | None]:
        """The values of several names."""
        return [self[name] for name in names]

    def _decoded(self, name: str) -> Value:
        if name not in self._initializers:
            raise Unsupported(f"its input '{name}' has no producer")
        array = array_of(self._initializers[name], f"the initializer '{name}'")
        array.flags.writeable = False
        self._budget.hold_free(array)
        return array
