"""Values at the borders of parts: of the types and sizes that the model states, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from onnx import TypeProto

from spirloom.onnx.parts.types import dtype_of, sizes_of
from spirloom.runtime.arrays import Array, to_array
from spirloom.runtime.errors import InvalidArgument, InvalidFile, WrongType
from spirloom.runtime.tensors import TensorInfo

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """An input or output. None stands for what is only known in a run: a type, a rank, a size."""

    name: str
    dtype: np.dtype[Any] | None
    shape: tuple[int | None, ...] | None

    @classmethod
    def of(cls, name: str, kind: TypeProto | None) -> ValueInfo:
        """What a model states of a value."""
        if kind is None or not kind.HasField("tensor_type"):
            return cls(name, None, None)
        return cls(name, dtype_of(kind), sizes_of(kind))

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype or '?'}{self._sizes()}"

    def _sizes(self) -> str:
        if self.shape is None:
            return "[…]"
        return f"[{', '.join('?' if size is None else str(size) for size in self.shape)}]"

    def taken(self, value: object) -> Any:
        """What a caller passes, as the model takes it. Raises WrongType and InvalidArgument."""
        if self.dtype is None:
            return value
        if self.dtype.kind not in "biuf":
            array = np.asarray(value)
            if array.dtype != self.dtype:
                raise WrongType(f"Input '{self.name}' is {self.dtype}, not {array.dtype}.")
        else:
            array = to_array(value, self._as_tensor())
        if not self._fits(array.shape):
            wanted = self._sizes()
            raise InvalidArgument(
                f"Input '{self.name}' has shape {list(array.shape)}, not {wanted}."
            )
        return array

    def checked(self, value: Any, maker: str) -> Any:
        """What a part gave, if it is as the model states. Raises InvalidFile."""
        if self.dtype is None:
            return value
        array = np.asarray(value)
        if array.dtype != self.dtype or not self._fits(array.shape):
            found = f"{array.dtype}{list(array.shape)}"
            raise InvalidFile(
                f"{maker} gives '{self.name}' as {found}; the model states "
                f"{self.dtype}{self._sizes()}. Correct what the model states of its shapes and "
                "types, or export it again."
            )
        return array

    def restored(self, array: Array) -> Array:
        """What the device gave, in the model's own type."""
        return array if self.dtype is None else array.astype(self.dtype, copy=False)

    def _fits(self, shape: Sequence[int]) -> bool:
        if self.shape is None:
            return True
        pairs = zip(self.shape, shape, strict=False)
        return len(shape) == len(self.shape) and all(a in (None, b) for a, b in pairs)

    def _as_tensor(self) -> TensorInfo:
        assert self.dtype is not None
        shape = tuple(size or 0 for size in self.shape or ())
        nbytes = prod(shape) * self.dtype.itemsize
        return TensorInfo(self.name, self.dtype, shape, (), nbytes, _LEAST, _GREATEST)
