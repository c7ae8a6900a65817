"""Sizes that depend on the data: values with their maximum size, and the number of valid elements.

NonMaxSuppression selects a number of boxes that is known after a run. Its output has the maximum
size at import, and the device counts the valid elements along one axis, which come first. Operators
that compute the elements along that axis independently keep both; others are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from spirloom.errors import Unsupported
from spirloom.ir import Graph, Tensor
from spirloom.onnx.context import DataSize, NodeContext
from spirloom.onnx.values import Values

ATTACHMENT = "spirloom.output_sizes"  # JSON: output → [axis, output with the size]

_ELEMENTWISE = frozenset(
    """
    Abs Acos Acosh Add And Asin Asinh Atan Atanh BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast
    CastLike Ceil Celu Clip Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual
    HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod
    Mul Neg Not Or Pow Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub
    Sum Tan Tanh ThresholdedRelu Where Xor
    """.split()
)


@dataclass(slots=True)
class DataSizes:
    """The sizes of the values of an import that depend on the data."""

    _sizes: dict[Tensor, DataSize] = field(default_factory=dict)

    def of(self, value: object) -> DataSize | None:
        """The size of a value; None if it is known at import."""
        return self._sizes.get(value) if isinstance(value, Tensor) else None

    def set(self, tensor: Tensor, size: DataSize) -> None:
        """Marks a tensor."""
        self._sizes[tensor] = size

    def refuse(self, ctx: NodeContext) -> None:
        """Raises Unsupported if an input of the node has such a size."""
        for name, value in zip(ctx.node.input, ctx.inputs, strict=False):
            if self.of(value):
                raise Unsupported(f"the size of its input '{name}' depends on the data")

    def follow(self, ctx: NodeContext, results: Iterable[object]) -> None:
        """Marks the results of a node. Raises Unsupported if they mix valid elements and others."""
        sizes = {i: size for i, value in enumerate(ctx.inputs) if (size := self.of(value))}
        if not sizes:
            return
        rule = _RULES.get(ctx.op_type, _elementwise if ctx.op_type in _ELEMENTWISE else None)
        counts = {size.count for size in sizes.values()}
        axes = {i: size.axis for i, size in sizes.items()}
        for result in results:
            if rule is not None and isinstance(result, Tensor) and len(counts) == 1:
                axis = rule(ctx, axes, result)
                if axis is not None:
                    self.set(result, DataSize(axis, next(iter(counts))))
                    continue
            self.refuse(ctx)

    def add_outputs(self, graph: Graph, values: Values) -> None:
        """Adds the sizes of outputs, as outputs that `ATTACHMENT` lists."""
        found: dict[str, tuple[int, str]] = {}
        added: dict[Tensor, str] = {}
        for output in tuple(graph.outputs):
            size = self.of(values[output.name])
            if size is None:
                continue
            if size.count not in added:
                size.count.name = f"{output.name}.size"
                added[size.count] = size.count.name
                graph.outputs.append(size.count)
            found[output.name] = (size.axis, added[size.count])
        if found:
            graph.attachments[ATTACHMENT] = json.dumps(found).encode()


def _shape(ctx: NodeContext, index: int) -> Sequence[int]:
    return ctx.required(index).shape


def _elementwise(ctx: NodeContext, axes: Mapping[int, int], result: Tensor) -> int | None:
    """The axis after broadcasting. Other inputs must not extend along it."""
    rank = len(result.shape)
    found = {axis + rank - len(_shape(ctx, i)) for i, axis in axes.items()}
    axis = found.pop()
    for i, value in enumerate(ctx.inputs):
        if i in axes or value is None:
            continue
        own = axis - rank + len(value.shape)
        if own >= 0 and value.shape[own] != 1:
            return None
    return None if found else axis


def _only(axes: Mapping[int, int], index: int = 0) -> int | None:
    """The axis of an input that is the only one with such a size."""
    return axes[index] if set(axes) == {index} else None


def _gather(ctx: NodeContext, axes: Mapping[int, int], result: Tensor) -> int | None:
    along = ctx.axis(ctx.integer("axis", 0), len(_shape(ctx, 0)))
    if (axis := _only(axes, 1)) is not None:
        return along + axis
    data = _only(axes)
    if data is None or data == along:
        return None
    return data if data < along else data - 1 + len(_shape(ctx, 1))


def _gather_nd(ctx: NodeContext, axes: Mapping[int, int], result: Tensor) -> int | None:
    axis = _only(axes, 1)
    inner = axis is not None and axis < len(_shape(ctx, 1)) - 1
    return axis if inner and ctx.integer("batch_dims", 0) == 0 else None


def _concat(ctx: NodeContext, axes: Mapping[int, int], result: Tensor) -> int | None:
    along = ctx.axis(ctx.integer("axis", 0), len(result.shape))
    found = set(axes.values())
    every = len(axes) == len(ctx.inputs) and len(found) == 1 and along not in found
    return found.pop() if every else None


def _same_size(ctx: NodeContext, axes: Mapping[int, int], result: Tensor) -> int | None:
    """The axis of operators that keep its size and all sizes before, or leave out sizes of 1."""
    axis = _only(axes)
    if axis is None:
        return None
    before = _shape(ctx, 0)
    for d, size in enumerate(result.shape):
        if size == before[axis] and prod(result.shape[:d]) == prod(before[:axis]):
            return d
    return None


def _slice(ctx: NodeContext, axes: Mapping[int, int], result: Tensor) -> int | None:
    axis = _only(axes)
    given = ctx.constant_ints(3) if len(ctx.inputs) > 3 else ctx.integers("axes")
    rank = len(result.shape)
    along = list(range(rank)) if given is None else [ctx.axis(a, rank) for a in given]
    return None if axis in along else axis


def _transpose(ctx: NodeContext, axes: Mapping[int, int], result: Tensor) -> int | None:
    rank = len(result.shape)
    order = ctx.integers("perm") or list(reversed(range(rank)))
    axis = _only(axes)
    return None if axis is None else order.index(axis)


def _other_axis(ctx: NodeContext, axes: Mapping[int, int], result: Tensor) -> int | None:
    """The axis of operators along another one."""
    axis = _only(axes)
    along = ctx.axis(ctx.integer("axis", 0), len(_shape(ctx, 0)))
    return None if axis == along else axis


Rule = Callable[[NodeContext, Mapping[int, int], Tensor], int | None]

_RULES: dict[str, Rule] = {
    "Concat": _concat,
    "Gather": _gather,
    "GatherND": _gather_nd,
    "Reshape": _same_size,
    "Slice": _slice,
    "Split": _other_axis,
    "Squeeze": _same_size,
    "Transpose": _transpose,
    "Unsqueeze": _same_size,
}
