"""torch's element types: their numbers in archives, and NumPy's types."""

from __future__ import annotations

from typing import Any

import numpy as np

from spirloom.bounds.wide import narrow_type
from spirloom.errors import Unsupported
from spirloom.ir import DType

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
