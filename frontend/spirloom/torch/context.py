"""What a rule sees of the call that it imports, and what it builds with."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from spirloom.builder import Builder, Value
from spirloom.errors import Unsupported
from spirloom.ir import Array, Tensor
from spirloom.torch.apply import Applier
from spirloom.torch.program import Call
from spirloom.torch.values import Item, is_value


class Arguments(dict[str, Item]):
    """Arguments by name, of a call that may have been damaged."""

    def __missing__(self, name: str) -> Item:
        raise Unsupported(f"it is not given its argument '{name}'")


class CallContext:
    """A call, its arguments by the names of its operator's schema, and the types it should give.

    `dtypes` and `shapes` are those of its results; None where the program does not tell.
    """

    def __init__(
        self,
        call: Call,
        target: str,
        args: dict[str, Item],
        dtypes: Sequence[np.dtype[Any] | None],
        shapes: Sequence[tuple[int, ...] | None],
        applier: Applier,
    ) -> None:
        self.call = call
        self.target = target
        self.args = Arguments(args)
        self.dtypes = dtypes
        self.shapes = shapes
        self.applier = applier

    @property
    def build(self) -> Builder:
        """For what consists of our operators alone."""
        return self.applier.build

    def apply(self, op: str, **args: object) -> Value:
        """The first result of an operator, computed now if all that it takes is known."""
        return self.apply_all(op, **args)[0]

    def apply_all(self, op: str, **args: object) -> tuple[Value, ...]:
        """All results of an operator; its arguments are by the names of its spec."""
        return self.applier.apply(op, args, self.dtypes, self.shapes)

    def inner(self, op: str, *given: object, **args: object) -> Value:
        """The first result of an operator whose result is not the call's."""
        names = self.applier.library.arg_names(op)
        positional = dict(zip(names, given, strict=False))
        return self.applier.apply(op, {**positional, **args}, (), ())[0]

    def has(self, name: str) -> bool:
        """Whether an argument is given, and not None."""
        return self.args.get(name) is not None

    def value(self, name: str) -> Value:
        """A tensor or a constant array."""
        found = self.args.get(name)
        if isinstance(found, int | float):
            return np.asarray(found)
        if not is_value(found):
            raise Unsupported(f"its argument '{name}' is no tensor")
        return found

    def values(self, name: str) -> list[Value]:
        """A list of tensors."""
        found = self.args.get(name)
        if not isinstance(found, tuple):
            raise Unsupported(f"its argument '{name}' is no list of tensors")
        return [item for item in found if is_value(item)]

    def integer(self, name: str, default: int | None = None) -> int:
        """A whole number."""
        found = self.args.get(name)
        if found is None and default is not None:
            return default
        if isinstance(found, np.ndarray) and found.size == 1:
            return int(found.reshape(-1)[0])
        if not isinstance(found, int):
            raise Unsupported(f"its argument '{name}' is no whole number that import knows")
        return int(found)

    def number(self, name: str, default: float) -> float:
        """A number."""
        found = self.args.get(name)
        if isinstance(found, int | float):
            return found
        return default

    def flag(self, name: str, default: bool = False) -> bool:
        """A bool."""
        return bool(self.number(name, default))

    def text(self, name: str, default: str = "") -> str:
        """A string."""
        found = self.args.get(name)
        return found if isinstance(found, str) else default

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of whole numbers, empty where it is absent."""
        found = self.args.get(name)
        if isinstance(found, int):
            return (found,)
        if found is None:
            return ()
        if not isinstance(found, tuple):
            raise Unsupported(f"its argument '{name}' is no list of numbers")
        return tuple(_whole(item, name) for item in found)

    def axis(self, name: str, rank: int, default: int | None = None) -> int:
        """A dimension, counted from the front."""
        axis = self.integer(name, default)
        if not -max(rank, 1) <= axis < max(rank, 1):
            raise Unsupported(f"its argument '{name}' ({axis}) is no dimension of {rank}")
        return axis % max(rank, 1)

    def size(self, x: Value, dim: int) -> int:
        """Of one dimension; a number has none."""
        if dim >= len(x.shape):
            raise Unsupported(f"{list(x.shape)} has no dimension {dim}")
        return x.shape[dim]

    def dtype(self, name: str = "dtype") -> np.dtype[Any] | None:
        """The element type that an argument names."""
        found = self.args.get(name)
        return found if isinstance(found, np.dtype) else None

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        """That of its first result, which has so many dims where a rank is given."""
        if not self.shapes or self.shapes[0] is None:
            raise Unsupported("the program does not tell the shape that it gives")
        if rank is not None and len(self.shapes[0]) != rank:
            raise Unsupported(f"it gives {list(self.shapes[0])}, which has not {rank} dimensions")
        return self.shapes[0]

    def out_dtype(self) -> np.dtype[Any]:
        """That of its first result, in torch."""
        if not self.dtypes or self.dtypes[0] is None:
            raise Unsupported("the program does not tell the type that it gives")
        return self.dtypes[0]

    def out_or_none(self) -> np.dtype[Any] | None:
        """torch's type of the first result, where the program tells it."""
        return self.dtypes[0] if self.dtypes else None

    def cast(self, x: Value, dtype: np.dtype[Any]) -> Value:
        """x in another of torch's element types."""
        return self.applier.cast(x, dtype)

    def filled(self, value: float | bool, shape: Sequence[int] | None = None) -> Array:
        """A constant of the result's type."""
        size = self.shape() if shape is None else tuple(shape)
        dtype = self.out_dtype()
        self.build.budget.check(size, dtype.itemsize)
        return self.made(np.full(size, value, dtype), "aten.full", size=size, value=float(value))

    def made(self, array: Array, op: str, **args: object) -> Array:
        """A constant, and the operator that makes it where it is an output of the graph."""
        self.applier.makers[id(array)] = (array, op, args)
        return array

    def reshaped(self, x: Value, shape: Sequence[int]) -> Value:
        """The same elements in another shape."""
        if x.shape == tuple(shape):
            return x
        if isinstance(x, Tensor):
            return self.inner("aten.view", x, tuple(shape))
        if x.size != prod(shape) or min(shape, default=0) < 0:
            raise Unsupported(f"{list(x.shape)} has not the elements of {list(shape)}")
        return x.reshape(tuple(shape))

    def expanded(self, x: Array) -> Array:
        """A constant in the shape of the result, repeated where its dims are 1."""
        try:
            return np.broadcast_to(x, self.shape())
        except ValueError:
            raise Unsupported(f"{list(x.shape)} does not widen to {list(self.shape())}") from None

    def permuted(self, x: Value, dims: Sequence[int]) -> Value:
        """The dimensions in another order."""
        if list(dims) == list(range(len(x.shape))):
            return x
        if isinstance(x, Tensor):
            return self.inner("aten.permute", x, tuple(dims))
        if sorted(dims) != list(range(x.ndim)):
            raise Unsupported(f"{list(dims)} is no order of {x.ndim} dimensions")
        return np.transpose(x, tuple(dims))

    def sliced(self, x: Value, dim: int, start: int, end: int, step: int = 1) -> Value:
        """Elements start, start + step, … below end."""
        if (start, end, step) == (0, x.shape[dim], 1):
            return x
        if isinstance(x, Tensor):
            return self.inner("aten.slice.Tensor", x, dim=dim, start=start, end=end, step=step)
        if not 0 <= dim < x.ndim or step < 1:
            raise Unsupported(f"a slice along dimension {dim} of {list(x.shape)} by {step} is none")
        return x[(slice(None),) * dim + (slice(start, end, step),)]


def _whole(item: object, name: str) -> int:
    if isinstance(item, np.ndarray) and item.size == 1:
        item = item.reshape(-1)[0].item()
    if not isinstance(item, int):
        raise Unsupported(f"its argument '{name}' has an item that is no known whole number")
    return int(item)
