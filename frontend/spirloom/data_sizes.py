"""Sizes that depend on the data: values with their maximum size, and the number of valid elements.

NonMaxSuppression, nonzero and masked_select select a number of elements that is known after a run.
Their results have the maximum size at import, and the device counts the valid elements along one
axis, which come first. Operators that compute the elements along that axis independently keep
both; others are refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from spec_model.traits import Trait
from spirloom.errors import Unsupported
from spirloom.ir import Array, Graph, Node, Tensor
from spirloom.op_library import OpLibrary

SIZE_OF_DATA = "its output size depends on the data; shapes must be known at import"
ATTACHMENT = "spirloom.output_sizes"  # JSON: output → [axis, output with the size]


@dataclass(frozen=True, slots=True)
class DataSize:
    """The valid elements of a tensor: the first `count`, an i32 scalar, along `axis`."""

    axis: int
    count: Tensor


Args = Mapping[str, object]
# The axis of a result, from the axes of the arguments that have one; None if it mixes elements.
Rule = Callable[[Args, Mapping[Tensor, int], Tensor], int | None]


class DataSizes:
    """The sizes of the values of an import that depend on the data."""

    def __init__(self, library: OpLibrary) -> None:
        self._library = library
        self._sizes: dict[Tensor, DataSize] = {}

    def of(self, value: object) -> DataSize | None:
        """The size of a value; None if it is known at import."""
        return self._sizes.get(value) if isinstance(value, Tensor) else None

    def set(self, tensor: Tensor, size: DataSize) -> None:
        """Marks a tensor."""
        self._sizes[tensor] = size

    def refuse(self, values: Iterable[tuple[str, object]]) -> None:
        """Raises Unsupported if one of the named values has such a size."""
        for name, value in values:
            if self.of(value):
                raise Unsupported(f"the size of its input '{name}' depends on the data")

    def follow(
        self,
        inputs: Iterable[tuple[str, object]],
        results: Iterable[object],
        calls: Iterable[Node],
    ) -> None:
        """Marks the results of the calls that import one of the model. Raises Unsupported if they
        mix valid elements and others. `inputs` are named for messages."""
        given = list(inputs)
        if not any(self.of(value) for _, value in given):
            return
        for call in calls:
            sizes = {t: size for t in call.inputs() if (size := self.of(t))}
            if not sizes:
                continue
            counts = {size.count for size in sizes.values()}
            axes = {tensor: size.axis for tensor, size in sizes.items()}
            for output in call.outputs:
                axis = self._axis(call, axes, output) if len(counts) == 1 else None
                if axis is None:
                    self.refuse(given)
                    raise Unsupported("the size of an intermediate value depends on the data")
                self.set(output, DataSize(axis, next(iter(counts))))
        if not all(map(self.of, results)):
            self.refuse(given)

    def _axis(self, call: Node, axes: Mapping[Tensor, int], output: Tensor) -> int | None:
        args = self._library.named_args(call)
        rule = _RULES.get(call.op)
        if rule is None and self._library.has_trait(call.op, Trait.ELEMENTWISE, args):
            rule = _elementwise
        return None if rule is None else rule(args, axes, output)

    def add_outputs(self, graph: Graph, values: Mapping[str, object]) -> None:
        """Adds the sizes of outputs, as outputs that `ATTACHMENT` lists. `values` are the outputs'
        values by name."""
        found: dict[str, tuple[int, str]] = {}
        added: dict[Tensor, str] = {}
        for output in tuple(graph.outputs):
            size = self.of(values.get(output.name))
            if size is None:
                continue
            if size.count not in added:
                size.count.name = f"{output.name}.size"
                added[size.count] = size.count.name
                graph.outputs.append(size.count)
            found[output.name] = (size.axis, added[size.count])
        if found:
            graph.attachments[ATTACHMENT] = json.dumps(found).encode()


# Appends a call, with arguments by name, and returns its results.
Emit = Callable[..., tuple[Tensor, ...]]


def true_first(emit: Emit, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The indices of a vector's elements, those of true elements first and in their order, and the
    number of true elements."""
    (missing,) = emit("aten.logical_not", x=mask)
    (key,) = emit("aten._to_copy", x=missing, dtype="i32")
    _, order = emit("aten.sort", x=key, dim=0, descending=False)  # is stable
    (count,) = emit("aten.count_nonzero.dim_IntList", x=mask, dim=(0,), keepdim=False)
    return order, count


def coordinates(
    emit: Emit, constant: Callable[[Array], Tensor], flat: Tensor, shape: Sequence[int]
) -> Tensor:
    """The rows of coordinates of row-major indices into a tensor of this shape."""
    columns = []
    for d, size in enumerate(shape):
        column, stride = flat, prod(shape[d + 1 :])
        if stride > 1:
            divisor = constant(np.array(stride, np.int32))
            (column,) = emit("aten.floor_divide", a=column, b=divisor)
        if d > 0:
            (column,) = emit(
                "aten.remainder.Tensor", a=column, b=constant(np.array(size, np.int32))
            )
        (column,) = emit("aten.view", x=column, size=(flat.shape[0], 1))
        columns.append(column)
    return columns[0] if len(columns) == 1 else emit("aten.cat", tensors=tuple(columns), dim=1)[0]


def _elementwise(args: Args, axes: Mapping[Tensor, int], result: Tensor) -> int | None:
    """The axis after broadcasting. Other tensors must not extend along it."""
    rank = len(result.shape)
    found = {axis + rank - len(x.shape) for x, axis in axes.items()}
    axis = found.pop()
    for value in args.values():
        if isinstance(value, Tensor) and value not in axes:
            own = axis - rank + len(value.shape)
            if own >= 0 and value.shape[own] != 1:
                return None
    return None if found else axis


def _only(args: Args, axes: Mapping[Tensor, int], name: str = "x") -> int | None:
    """The axis of an argument that is the only one with such a size."""
    return axes.get(_tensor(args[name])) if len(axes) == 1 else None


def _tensor(value: object) -> Tensor:
    assert isinstance(value, Tensor)
    return value


def _dim(args: Args, name: str = "dim", rank: int | None = None) -> int:
    dim = args[name]
    assert isinstance(dim, int)
    return dim % (len(_tensor(args["x"]).shape) if rank is None else rank)


def _picked(args: Args, axes: Mapping[Tensor, int], result: Tensor) -> int | None:
    """Selection by a vector of indices."""
    if _only(args, axes, "index") is not None:
        return _dim(args)
    axis = _only(args, axes)
    return None if axis == _dim(args) else axis


def _embedded(args: Args, axes: Mapping[Tensor, int], result: Tensor) -> int | None:
    return _only(args, axes, "index")


def _indexed(args: Args, axes: Mapping[Tensor, int], result: Tensor) -> int | None:
    """Selection by one tensor of indices."""
    axis = _only(args, axes, "index0")
    return None if axis is None or args["index1"] is not None else _dim(args) + axis


def _gathered(args: Args, axes: Mapping[Tensor, int], result: Tensor) -> int | None:
    """Selection by rows of indices."""
    axis = _only(args, axes, "index")
    inner = axis is not None and axis < len(_tensor(args["index"]).shape) - 1
    return axis if inner and args["batch_dims"] == 0 else None


def _concatenated(args: Args, axes: Mapping[Tensor, int], result: Tensor) -> int | None:
    along = _dim(args, rank=len(result.shape))
    parts = args["tensors"]
    assert isinstance(parts, tuple)
    found = set(axes.values())
    every = all(part in axes for part in parts) and len(found) == 1 and along not in found
    return found.pop() if every else None


def _same_size(args: Args, axes: Mapping[Tensor, int], result: Tensor) -> int | None:
    """The axis of operators that keep its size and all sizes before, or leave out sizes of 1."""
    axis = _only(args, axes)
    if axis is None:
        return None
    before = _tensor(args["x"]).shape
    for d, size in enumerate(result.shape):
        if size == before[axis] and prod(result.shape[:d]) == prod(before[:axis]):
            return d
    return None


def _other_dim(args: Args, axes: Mapping[Tensor, int], result: Tensor) -> int | None:
    """The axis of operators along another one."""
    axis = _only(args, axes)
    return None if axis == _dim(args) else axis


def _selected(args: Args, axes: Mapping[Tensor, int], result: Tensor) -> int | None:
    axis, along = _other_dim(args, axes, result), _dim(args)
    return axis if axis is None or axis < along else axis - 1


def _permuted(args: Args, axes: Mapping[Tensor, int], result: Tensor) -> int | None:
    axis, order = _only(args, axes), args["dims"]
    assert isinstance(order, tuple)
    rank = len(result.shape)
    return None if axis is None else [dim % rank for dim in order].index(axis)


def _rows(args: Args, axes: Mapping[Tensor, int], result: Tensor) -> int | None:
    """Linear layers, of rows in the last dimension."""
    axis = _only(args, axes)
    return None if axis == len(result.shape) - 1 else axis


_RULES: dict[str, Rule] = {
    "aten._softmax": _other_dim,
    "aten.cat": _concatenated,
    "aten.embedding": _embedded,
    "aten.flatten.using_ints": _same_size,
    "aten.index_select": _picked,
    "aten.linear": _rows,
    "aten.permute": _permuted,
    "aten.select.int": _selected,
    "aten.slice.Tensor": _other_dim,
    "aten.squeeze.dims": _same_size,
    "aten.unsqueeze": _same_size,
    "aten.view": _same_size,
    "aten.where.self": _elementwise,
    "spirloom.gather_nd": _gathered,
    "spirloom.index_nd": _indexed,
}
