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
from spirloom.onnx.shape_inference import Guesses


def part(ctx: NodeContext, x: Value, axis: int, place: int, keep: bool = False) -> Value:
    """The elements at one place of an axis, which stays with the size 1 if it is to be kept."""
    if not isinstance(x, Tensor):
        return np.asarray(np.take(x, [place] if keep else place, axis=axis))
    if keep:
        return ctx.build.slice(x, axis, place, place + 1)
    return ctx.build.emit("aten.select.int", x=x, dim=axis, index=place)


def stacked(ctx: NodeContext, parts: Sequence[Value], axis: int) -> Value:
    """Values of one shape along an additional axis."""
    shape = parts[0].shape
    if any(item.shape != shape for item in parts):
        raise Unsupported("the values it puts together differ in shape")
    if not any(isinstance(item, Tensor) for item in parts):
        arrays = [np.asarray(item) for item in parts]
        ctx.check_size([len(parts), *shape], arrays[0].itemsize)
        return np.asarray(np.stack(arrays, axis))
    full = [*shape[:axis], 1, *shape[axis:]]
    return ctx.build.cat([ctx.build.view(ctx.lifted(item), full) for item in parts], axis)


ValueList = tuple[Value, ...]
Held = Value | ValueList  # what a name of a graph can stand for
Handler = Callable[[NodeContext, ValueList], Held]


def handles(op_type: str, inputs: Sequence[Held | None]) -> bool:
    """Whether a node is one that makes a sequence, or takes one."""
    takes = bool(inputs) and isinstance(inputs[0], tuple)
    return op_type in _MAKERS or (takes and op_type in _TAKERS)


def result(ctx: NodeContext, inputs: Sequence[Held | None]) -> Held:
    """What such a node gives."""
    if ctx.op_type in _MAKERS:
        return _MAKERS[ctx.op_type](ctx, tuple(v for v in only_values(inputs) if v is not None))
    assert isinstance(inputs[0], tuple)
    return _TAKERS[ctx.op_type](ctx, inputs[0])


def only_values(inputs: Sequence[Held | None]) -> list[Value | None]:
    """The inputs of a node that takes no sequence."""
    values: list[Value | None] = []
    for given in inputs:
        if isinstance(given, tuple):
            raise Unsupported("it takes a sequence; only tensors are supported")
        values.append(given)
    return values


def _split(ctx: NodeContext, inputs: ValueList) -> Held:
    x = ctx.value(0)
    axis = ctx.axis(ctx.integer("axis", 0), len(x.shape))
    if not x.shape:
        raise Unsupported("a scalar cannot be split")
    sizes, length = ctx.constant(1), x.shape[axis]
    if sizes is None:
        keep = bool(ctx.integer("keepdims", 1))
        return tuple(part(ctx, x, axis, place, keep) for place in range(length))
    if sizes.ndim == 0:
        step = int(sizes)
        if step < 1:
            raise Unsupported(f"it cannot be split into parts of {step}")
        ends = [*range(step, length, step), length]
    else:
        ends = np.cumsum(sizes).tolist()
    starts = [0, *ends[:-1]]
    if ends[-1:] != [length] or any(a > b for a, b in zip(starts, ends, strict=True)):
        raise Unsupported(f"it cannot split {length} into {sizes.tolist()}")
    return tuple(_cut(ctx, x, axis, *ends_) for ends_ in zip(starts, ends, strict=True))


def _cut(ctx: NodeContext, x: Value, axis: int, start: int, end: int) -> Value:
    if isinstance(x, Tensor):
        return ctx.build.slice(x, axis, start, end)
    return np.asarray(np.take(x, range(start, end), axis=axis))


def _insert(ctx: NodeContext, items: ValueList) -> Held:
    place = _place(ctx.constant_ints(2), len(items), len(items), len(items) + 1)
    return (*items[:place], ctx.value(1), *items[place:])


def _erase(ctx: NodeContext, items: ValueList) -> Held:
    place = _place(ctx.constant_ints(1), len(items) - 1, len(items), len(items))
    return (*items[:place], *items[place + 1 :])


def _at(ctx: NodeContext, items: ValueList) -> Held:
    return items[_place(ctx.constant_ints(1), 0, len(items), len(items))]


def _place(given: list[int] | None, default: int, length: int, count: int) -> int:
    """A place below `count` of a sequence; negative ones count from its end."""
    place = given[0] if given else default
    wrapped = place + length if place < 0 else place
    if not 0 <= wrapped < count:
        raise Unsupported(f"a sequence of {length} has no place {place}")
    return wrapped


def _concat(ctx: NodeContext, items: ValueList) -> Held:
    if not items:
        raise Unsupported("its sequence is empty")
    rank, new = len(items[0].shape), bool(ctx.integer("new_axis", 0))
    axis = ctx.axis(ctx.integer("axis", 0), rank + new)
    if new:
        return stacked(ctx, items, axis)
    return ctx.build.cat([ctx.lifted(item) for item in items], axis)


_MAKERS: dict[str, Handler] = {
    "SequenceConstruct": lambda ctx, inputs: inputs,
    "SequenceEmpty": lambda ctx, inputs: (),
    "SplitToSequence": _split,
}
_TAKERS: dict[str, Handler] = {
    "ConcatFromSequence": _concat,
    "Identity": lambda ctx, items: items,
    "SequenceAt": _at,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": lambda ctx, items: np.array(len(items), np.int64),
}


class Unknown(Exception):
    """A value that an unsupported node would have made is needed."""


class Values:
    """Values by name. Those of unsupported nodes are guessed, so that all problems are found."""

    def __init__(self, model: ModelProto, inputs: list[Tensor], budget: Budget) -> None:
        self._budget = budget
        self._guesses = Guesses(model, inputs)
        self._initializers: dict[str, TensorProto] = {}
        self._known: dict[str, Held | None] = {t.name: t for t in inputs}
        self.declare(model.graph.initializer)

    def declare(self, initializers: Iterable[TensorProto]) -> None:
        """Adds constants, which are unpacked when first used."""
        self._initializers.update({t.name: t for t in initializers})

    def __setitem__(self, name: str, value: Held | None) -> None:
        """Sets a value; None stands for one that an unsupported node would have made."""
        self._known[name] = value

    def __getitem__(self, name: str) -> Held | None:
        """The value of a name; None for the empty name, of what is absent. Raises Unknown."""
        if not name:
            return None
        if name not in self._known:
            self._known[name] = self._unpacked(name)
        if self._known[name] is None:
            self._known[name] = self._guesses.get(name)
        value = self._known[name]
        if value is None:
            raise Unknown
        return value

    def known(self, name: str) -> Held | None:
        """The value of a name; None where there is none, or it cannot be read."""
        try:
            return None if self._known.get(name, "") is None else self[name]
        except (Unknown, Unsupported):
            return None

    def of(self, names: Iterable[str]) -> list[Held | None]:
        """The values of several names."""
        return [self[name] for name in names]

    def _unpacked(self, name: str) -> Value:
        if name not in self._initializers:
            raise Unsupported(f"nothing makes its input '{name}'")
        array = array_of(self._initializers[name], f"the initializer '{name}'")
        array.flags.writeable = False
        self._budget.hold_free(array)
        return array
