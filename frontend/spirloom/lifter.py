"""The values that importers deal in, and the tensors that constants become."""

from __future__ import annotations

from spirloom.bounds.wide import narrowed
from spirloom.builder import Builder
from spirloom.ir import Array, Tensor

# What a name of a model stands for: a constant known at import, in the model's own type, or a
# tensor.
Value = Array | Tensor


class Lifter:
    """Makes constants into tensors, each once, so that shared ones stay shared."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Array, Tensor]] = {}

    def lift(self, builder: Builder, value: Value, name: str) -> Tensor:
        """The tensor of a value."""
        if isinstance(value, Tensor):
            return value
        if id(value) not in self._made:
            tensor = builder.constant(narrowed(value))
            tensor.name = name
            self._made[id(value)] = (value, tensor)
        return self._made[id(value)][1]
