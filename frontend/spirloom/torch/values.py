"""Values during a torch import: element types and torch's type promotion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import DType, Tensor
from spirloom.value_bounds import narrow_type

# By number in an archive, of the schema's major version 8.
NAMES = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
}
# bfloat16 lies in archives as its bits; float32 holds all of its numbers.
BFLOAT16 = "bfloat16"


def numpy_type(name: str) -> np.dtype[Any]:
    """The NumPy type of what torch calls so; float32 stands for bfloat16."""
    if name == BFLOAT16:
        return np.dtype(np.float32)
    if name not in NAMES.values() or name.startswith("complex"):
        raise Unsupported(f"the element type {name} is not supported")
    return np.dtype(name)


def our_type(name: str) -> DType:
    """The type that computes for one of torch's."""
    return narrow_type(numpy_type(name))


# A tensor, a constant in torch's own type, a plain value known at import, or a list of such.
Item = Any


def is_value(item: Item) -> TypeGuard[Value]:
    """Whether it is a tensor or a constant array."""
    return isinstance(item, Tensor | np.ndarray)


_ORDER = "biuf"
_DEFAULTS = {"b": np.bool_, "i": np.int64, "f": np.float32}


def promoted(values: Sequence[tuple[np.dtype[Any], int | None]]) -> np.dtype[Any]:
    """Of types with their ranks; None is the rank of a plain number.

    Tensors of a rank count before those without, and these before plain numbers: others only raise
    the kind, from bools to integers to floats.
    """
    result: np.dtype[Any] | None = None
    for chosen in (
        [d for d, rank in values if rank],
        [d for d, rank in values if rank == 0],
        [np.dtype(_DEFAULTS[_kind(d)]) for d, rank in values if rank is None],
    ):
        if not chosen:
            continue
        best = max(_ORDER.index(_kind(d)) for d in chosen)
        within = [d for d in chosen if _ORDER.index(_kind(d)) == best]
        own = within[0]
        for other in within[1:]:
            own = np.promote_types(own, other)
        if result is None or best > _ORDER.index(_kind(result)):
            result = own
    assert result is not None
    return result


def _kind(dtype: np.dtype[Any]) -> str:
    return "i" if dtype.kind == "u" else dtype.kind
