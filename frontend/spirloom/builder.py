"""Builds nodes: arguments are completed from the operator's schema, outputs typed by its spec."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from spirloom.budget import Budget
from spirloom.ir import Array, DType, Graph, Node, Tensor, constant, is_possible
from spirloom.ops import OpError, OpLibrary


class Builder:
    """Appends nodes to a graph. `name` is the source node whose parts are being built.

    `makers` has the node that makes each tensor; `budget` counts the constants.
    """

    def __init__(self, library: OpLibrary, graph: Graph, budget: Budget | None = None) -> None:
        self.library = library
        self.graph = graph
        self.budget = budget or Budget(model_bytes=0)
        self._permuted: dict[tuple[Tensor, tuple[int, ...]], Tensor] = {}
        self.name = ""
        self.makers: dict[Tensor, Node] = {}

    def emit(self, op: str, **args: object) -> Tensor:
        """Appends a call and returns its first output; raises OpError if it cannot be made."""
        return self.emit_all(op, **args)[0]

    def emit_all(self, op: str, **args: object) -> tuple[Tensor, ...]:
        """Appends a call and returns all of its outputs; raises OpError if it cannot be made."""
        values = self.library.complete(op, args)
        types = self.library.infer(op, values)
        for shape, _ in types:
            if not is_possible(shape):
                raise OpError(f"{op} would give the impossible shape {list(shape)}")
        outputs = tuple(Tensor(self.name, dtype, shape) for shape, dtype in types)
        node = Node(op, values, outputs, self.name)
        self.graph.nodes.append(node)
        self.makers.update(dict.fromkeys(outputs, node))
        return outputs

    def scalar(self, value: float, dtype: DType) -> Tensor:
        """A constant of rank 0; OpError if the type has no such number."""
        whole = np.iinfo(dtype.numpy) if dtype.numpy.kind in "iu" else None
        if whole and not (float(value).is_integer() and whole.min <= value <= whole.max):
            raise OpError(f"{dtype.long_name} cannot hold {value}")
        with np.errstate(over="ignore"):
            return self.constant(np.array(value, dtype=dtype.numpy))

    def constant(self, values: Array) -> Tensor:
        """A constant of a type Spirloom has."""
        return self._held(constant(f"{self.name}.constant", values))

    def _held(self, made: Tensor) -> Tensor:
        assert made.data is not None
        self.budget.hold(made.data)
        return made

    def view(self, x: Tensor, size: Sequence[int]) -> Tensor:
        """The same elements in another shape."""
        if x.shape == tuple(size):
            return x
        if x.data is not None and x.data.size == prod(size) and min(size, default=0) >= 0:
            return self._held(constant(x.name, x.data.reshape(tuple(size))))
        return self.emit("aten.view", x=x, size=tuple(size))

    def permute(self, x: Tensor, dims: Sequence[int]) -> Tensor:
        """The dimensions of x in another order."""
        if list(dims) == list(range(len(x.shape))):
            return x
        if x.data is not None and sorted(dims) == list(range(len(x.shape))):
            key = (x, tuple(dims))
            if key not in self._permuted:
                self.budget.check(x.shape, x.data.itemsize)
                # Large weights are not copied before they are written.
                turned = np.transpose(x.data, key[1])
                self._permuted[key] = self._held(Tensor(x.name, x.dtype, turned.shape, turned))
            return self._permuted[key]
        return self.emit("aten.permute", x=x, dims=tuple(dims))

    def pad(self, x: Tensor, before: Sequence[int], after: Sequence[int], value: float) -> Tensor:
        """x with elements added around it; negative amounts cut it."""
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
        """Elements start, start + step, … below end of one dimension."""
        if dim >= len(x.shape):
            raise OpError(f"{x} has no dimension {dim}")
        if (start, end, step) == (0, x.shape[dim], 1):
            return x
        if x.data is not None:
            part = x.data[(slice(None),) * dim + (slice(start, end, step),)]
            self.budget.check(part.shape, part.itemsize)
            return self._held(constant(x.name, part))
        return self.emit("aten.slice.Tensor", x=x, dim=dim, start=start, end=end, step=step)

    def cat(self, parts: Sequence[Tensor], dim: int) -> Tensor:
        """The parts one after the other along a non-negative dimension."""
        if len(parts) == 1:
            return parts[0]
        known = [part.data for part in parts if part.data is not None]
        if len(known) == len(parts):
            self.budget.check([sum(a.size for a in known)], known[0].itemsize)
            try:
                return self.constant(np.concatenate(known, axis=dim))
            except ValueError as error:
                raise OpError(f"{', '.join(map(str, parts))} cannot be joined") from error
        return self.emit("aten.cat", tensors=tuple(parts), dim=dim)

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        """a + b, broadcasting."""
        return self.emit("aten.add.Tensor", a=a, b=b)

    def mul(self, a: Tensor, b: Tensor | float) -> Tensor:
        """a · b, broadcasting."""
        other = b if isinstance(b, Tensor) else self.scalar(b, a.dtype)
        return self.emit("aten.mul.Tensor", a=a, b=other)

    def reduce(self, op: str, x: Tensor, dims: Sequence[int], keepdim: bool = True) -> Tensor:
        """A reduction over explicit, non-negative dims; x itself over none of them."""
        if not dims:
            return x
        return self.emit(op, x=x, dim=tuple(dims), keepdim=keepdim)
