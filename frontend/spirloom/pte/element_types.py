"""Element types by their numbers in programs and in delegates' graphs; the names are torch's."""

from __future__ import annotations

from math import prod

import numpy as np

from codegen.flatbuffer import MalformedBuffer
from spirloom.bfloat16 import from_bfloat16
from spirloom.errors import Unsupported
from spirloom.ir import Array, is_possible
from spirloom.torch.element_types import BFLOAT16, numpy_type

# torch's ScalarType.
_OF_PROGRAMS = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32",
    7: "float64", 8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16",
    27: "uint16",
}  # fmt: skip
# Those of vk_graph.fbs.
_OF_DELEGATES = ("bool", "uint8", "int8", "int32", "float16", "float32", "float64", "int64")


def of_program(number: int) -> str:
    """The type of a tensor of a program, or a name of no type."""
    return _OF_PROGRAMS.get(number, f"of number {number}")


def of_delegate(number: int) -> str:
    """The type of a tensor of a delegate's graph."""
    if not 0 <= number < len(_OF_DELEGATES):
        raise MalformedBuffer(f"a tensor has the element type {number}")
    return _OF_DELEGATES[number]


def array_of(data: memoryview, dtype: str, shape: tuple[int, ...], what: str) -> Array:
    """The first bytes of `data` as an array. Raises Unsupported, MalformedBuffer."""
    if not is_possible(shape):
        raise MalformedBuffer(f"{what} has the impossible sizes {list(shape)}")
    stored = np.dtype(np.uint16) if dtype == BFLOAT16 else numpy_type(dtype)
    wanted = prod(shape) * stored.itemsize
    if wanted > len(data):
        raise MalformedBuffer(f"{what} needs {wanted} bytes, and there are {len(data)}")
    flat = np.frombuffer(data, stored.newbyteorder("<"), prod(shape))
    if stored == np.bool_:
        flat = flat.view(np.uint8) != 0
    seen = flat.reshape(shape)
    return from_bfloat16(seen) if dtype == BFLOAT16 else seen


def check_type(dtype: str) -> None:
    """Raises Unsupported for a type that there is not here."""
    numpy_type(dtype)


__all__ = ["Unsupported", "array_of", "check_type", "of_delegate", "of_program"]
