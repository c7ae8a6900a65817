"""Sequences of tensors exist only at import: which tensor stands where is known, or it is refused.

Exporters write them for lists in scripted code, such as that of torch.split and torch.stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spirloom.ir import Tensor
from spirloom.onnx.context import NodeContext
from spirloom.onnx.joining import part, stacked
from spirloom.onnx.terms import Unsupported, Value

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
