"""The context of an import rule: the call, its arguments and result types, and the builder."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from spirloom.builder import Builder, Value
from spirloom.errors import Unsupported
from spirloom.ir import Array, Tensor
from spirloom.number_expr import SymFloat
from spirloom.sizes import SymInt, is_symbolic, upper_shape
from spirloom.torch.apply import Applier
from spirloom.torch.program import Call
from spirloom.torch.values import Item, is_value


class Arguments(dict[str, Item]):
    """The arguments of a call by name. A damaged file may omit some."""

    def __missing__(self, name: str) -> Item:
        raise Unsupported(f"its argument '{name}' is missing")


class CallContext:
    """A call and its arguments, by the names of its operator's schema.

    `dtypes` and `shapes` are those of its results; None if the program does not state them.
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
        """Emits operators without checks against the program."""
        return self.applier.build

    def apply(self, op: str, **args: object) -> Value:
        """The first result of an operator, folded if all arguments are constant."""
        return self.apply_all(op, **args)[0]

    def apply_all(self, op: str, **args: object) -> tuple[Value, ...]:
        """All results of an operator, with arguments by the names of its spec."""
        return self.applier.apply(op, args, self.dtypes, self.shapes)

    def typed(self, op: str, **args: object) -> Value:
        """The first result of an operator: of the type of the call's first result, in any shape."""
        return self.applier.apply(op, args, self.dtypes[:1], ())[0]

    def inner(self, op: str, *given: object, **args: object) -> Value:
        """The first result of an operator whose result is intermediate."""
        names = self.applier.library.arg_names(op)
        positional = dict(zip(names, given, strict=False))
        return self.emit_all(op, **positional, **args)[0]

    def emit_all(self, op: str, **args: object) -> tuple[Value, ...]:
        """All results of an operator whose results are intermediate."""
        return self.applier.apply(op, args, (), ())

    def has(self, name: str) -> bool:
        """Whether an argument is present and not None."""
        return self.args.get(name) is not None

    def value(self, name: str) -> Value:
        """A tensor or a constant array."""
        found = self.args.get(name)
        if isinstance(found, SymInt | SymFloat):
            return self.applier.number(found)
        if isinstance(found, int | float):
            return np.asarray(found)
        if not is_value(found):
            raise Unsupported(f"its argument '{name}' is not a tensor")
        return found

    def values(self, name: str) -> list[Value]:
        """A list of tensors."""
        found = self.args.get(name)
        if not isinstance(found, tuple):
            raise Unsupported(f"its argument '{name}' is not a list of tensors")
        return [item for item in found if is_value(item)]

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer argument."""
        found = self.args.get(name)
        if found is None and default is not None:
            return default
        if isinstance(found, np.ndarray) and found.size == 1:
            return int(found.reshape(-1)[0])
        if not isinstance(found, int):
            raise Unsupported(f"its argument '{name}' is not a constant integer")
        return int(found) if isinstance(found, bool) else found

    def number(self, name: str, default: float) -> float:
        """A numeric argument."""
        found = self.args.get(name)
        if isinstance(found, int | float):
            return found
        return default

    def flag(self, name: str, default: bool = False) -> bool:
        """A boolean argument."""
        return bool(self.number(name, default))

    def text(self, name: str, default: str = "") -> str:
        """A string argument."""
        found = self.args.get(name)
        return found if isinstance(found, str) else default

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of integers; empty if absent."""
        found = self.args.get(name)
        if isinstance(found, int):
            return (found,)
        if found is None:
            return ()
        if not isinstance(found, tuple):
            raise Unsupported(f"its argument '{name}' is not a list of integers")
        return tuple(_integer(item, name) for item in found)

    def axis(self, name: str, rank: int, default: int | None = None) -> int:
        """A dimension argument, as a nonnegative index."""
        axis = self.integer(name, default)
        if not -max(rank, 1) <= axis < max(rank, 1):
            raise Unsupported(f"its argument '{name}' ({axis}) is out of range for rank {rank}")
        return axis % max(rank, 1)

    def size(self, x: Value, dim: int) -> int:
        """The size of one dimension; scalars have none."""
        if dim >= len(x.shape):
            raise Unsupported(f"{list(x.shape)} has no dimension {dim}")
        return x.shape[dim]

    def dtype(self, name: str = "dtype") -> np.dtype[Any] | None:
        """An element type argument."""
        found = self.args.get(name)
        return found if isinstance(found, np.dtype) else None

    def shape(self, rank: int | None = None) -> tuple[int, ...]:
        """The shape of the first result, which must have this rank, if given."""
        if not self.shapes or self.shapes[0] is None:
            raise Unsupported("the program does not state the shape of its result")
        if rank is not None and len(self.shapes[0]) != rank:
            raise Unsupported(f"its result has shape {list(self.shapes[0])}; expected rank {rank}")
        return self.shapes[0]

    def out_dtype(self) -> np.dtype[Any]:
        """torch's type of the first result."""
        if not self.dtypes or self.dtypes[0] is None:
            raise Unsupported("the program does not state the type of its result")
        return self.dtypes[0]

    def out_or_none(self) -> np.dtype[Any] | None:
        """torch's type of the first result; None if the program does not state it."""
        return self.dtypes[0] if self.dtypes else None

    def cast(self, x: Value, dtype: np.dtype[Any]) -> Value:
        """Casts x to a torch type."""
        return self.applier.cast(x, dtype)

    def filled(self, value: float | bool, shape: Sequence[int] | None = None) -> Value:
        """A constant of one value, of the result's type (and shape, by default)."""
        size = self.shape() if shape is None else tuple(shape)
        dtype = self.out_dtype()
        at_maximum = upper_shape(size)
        self.build.budget.check(at_maximum, dtype.itemsize)
        full = np.full(at_maximum, value, dtype)
        return self.generated(full, size, "aten.full", size=size, value=float(value))

    def generated(self, array: Array, shape: Sequence[int], op: str, **args: object) -> Value:
        """A constant, with the operator that generates it if it is an output of the graph. With a
        symbolic shape, `array` has the maximum sizes, and contains the constant of each size at its
        beginning.
        """
        if is_symbolic(shape):
            return self.applier.leading_part(array, tuple(shape))
        self.applier.generators[id(array)] = (array, op, args)
        return array

    def view(self, x: Value, shape: Sequence[int]) -> Value:
        """A view of x with another shape."""
        if x.shape == tuple(shape):
            return x
        if isinstance(x, Tensor):
            return self.inner("aten.view", x, tuple(shape))
        if is_symbolic(shape):
            return self.inner("aten.view", x, tuple(shape))
        if x.size != prod(shape) or min(shape, default=0) < 0:
            raise Unsupported(f"{list(x.shape)} cannot be reshaped to {list(shape)}")
        return x.reshape(tuple(shape))

    def expanded(self, x: Array) -> Value:
        """A constant broadcast to the shape of the result."""
        if is_symbolic(self.shape()):
            return self.apply("aten.expand", x=x, size=self.shape())
        try:
            return np.broadcast_to(x, self.shape())
        except ValueError:
            shapes = f"{list(x.shape)} cannot be broadcast to {list(self.shape())}"
            raise Unsupported(shapes) from None

    def permute(self, x: Value, dims: Sequence[int]) -> Value:
        """x with its dimensions permuted."""
        if list(dims) == list(range(len(x.shape))):
            return x
        if isinstance(x, Tensor):
            return self.inner("aten.permute", x, tuple(dims))
        if sorted(dims) != list(range(x.ndim)):
            raise Unsupported(f"{list(dims)} is not a permutation of {x.ndim} dimensions")
        return np.transpose(x, tuple(dims))

    def cat(self, parts: Sequence[Value], dim: int) -> Value:
        """The concatenation along a dimension."""
        return parts[0] if len(parts) == 1 else self.inner("aten.cat", tuple(parts), dim)

    def slice(self, x: Value, dim: int, start: int, end: int, step: int = 1) -> Value:
        """A slice of one dimension."""
        if (start, end, step) == (0, x.shape[dim], 1):
            return x
        if isinstance(x, Tensor) or is_symbolic((start, end)):
            return self.inner("aten.slice.Tensor", x, dim=dim, start=start, end=end, step=step)
        if not 0 <= dim < x.ndim or step < 1:
            raise Unsupported(
                f"a slice of dimension {dim} of {list(x.shape)} with step {step} is invalid"
            )
        return x[(slice(None),) * dim + (slice(start, end, step),)]


def _integer(item: object, name: str) -> int:
    if isinstance(item, np.ndarray) and item.size == 1:
        item = item.reshape(-1)[0].item()
    if not isinstance(item, int):
        raise Unsupported(f"its argument '{name}' has an item that is not a constant integer")
    return int(item) if isinstance(item, bool) else item
