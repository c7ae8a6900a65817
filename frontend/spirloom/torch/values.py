"""Element types of torch, and torch's type promotion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from spec_model.stored_float import decoded
from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.mapped_file import array_in
from spirloom.value_bounds import narrow_type

# Element types that are no DType, by torch's ScalarType. Archives have ids that are larger by one.
_OTHERS = {2: "int16", 4: "int64", 7: "float64", 8: "complex32", 9: "complex64", 10: "complex128",
           27: "uint16"}  # fmt: skip
_SCALAR_TYPES = {dtype.row.scalar_type: dtype.long_name for dtype in DType} | _OTHERS
_EXPORTED_TYPES = {dtype.row.export_id: dtype.long_name for dtype in DType} | {
    number + 1: name for number, name in _OTHERS.items()
}
_OWN = {dtype.long_name: dtype for dtype in DType}
# Computed in float32, which represents all of its values.
BFLOAT16 = "bfloat16"
# Complex values are imported as pairs of float32.
COMPLEX = "complex64"


def scalar_type(number: int) -> str:
    """The element type of a ScalarType; "with id N" for an unknown one."""
    return _SCALAR_TYPES.get(number, f"with id {number}")


def exported_type(number: int) -> str:
    """The element type of an id in an archive, schema version 8; "with id N" for an unknown one."""
    return _EXPORTED_TYPES.get(number, f"with id {number}")


def numpy_type(name: str) -> np.dtype[Any]:
    """The NumPy type that represents a torch type during import; float32 for bfloat16."""
    if name == BFLOAT16:
        return np.dtype(np.float32)
    if name not in _SCALAR_TYPES.values() or name.startswith("complex"):
        raise Unsupported(f"the element type {name} is not supported")
    own = own_dtype(name)
    return np.dtype(name) if own is None else own.numpy


def array_of(
    data: memoryview, name: str, shape: Sequence[int], what: str, offset: int = 0
) -> Array:
    """A mapped array of elements of a torch type, `offset` elements after the start of the bytes;
    bfloat16 is decoded. Raises Unsupported for other types, and MalformedBuffer as array_in()."""
    if name == BFLOAT16:
        stored = DType.BF16.numpy
    else:
        stored = np.dtype(np.complex64) if name == COMPLEX else numpy_type(name)
    array = array_in(data, offset * stored.itemsize, stored, shape, what)
    if stored == np.bool_:
        array = array.view(np.uint8) != 0
    return decoded(array, DType.BF16) if name == BFLOAT16 else array


def own_dtype(name: str) -> DType | None:
    """The dtype of the same name as a torch type."""
    return _OWN.get(name)


def device_type(name: str) -> DType:
    """The device type that represents a torch type in a graph."""
    return narrow_type(numpy_type(name))


def border_type(name: str) -> DType:
    """The device type of a graph's inputs and outputs of a torch type."""
    return DType.BF16 if name == BFLOAT16 else device_type(name)


# A tensor, a constant array of torch's type, a plain value known at import, or a tuple of these.
Item = Any


def is_value(item: Item) -> TypeGuard[Value]:
    """Whether an item is a tensor or a constant array."""
    return isinstance(item, Tensor | np.ndarray)


_ORDER = "biuf"
_DEFAULTS = {"b": np.bool_, "i": np.int64, "f": np.float32}


def promoted(values: Sequence[tuple[np.dtype[Any], int | None]]) -> np.dtype[Any]:
    """Torch's promotion of types with their ranks; None is the rank of a Python number.

    Tensors with dimensions take precedence over scalars, and these over Python numbers: operands of
    lower precedence only raise the category, from bool to integer to float.
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
