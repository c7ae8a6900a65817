"""Types of values that are transferred between the segments of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, TypeProto

from spirloom.errors import Unsupported
from spirloom.ir import MAX_RANK, is_possible
from spirloom.onnx.dtypes import numpy_type, onnx_type, type_name
from spirloom.onnx.inputs import Shapes


def tensor_type(dtype: np.dtype[Any], shape: Sequence[int]) -> TypeProto:
    """The ONNX type of a tensor."""
    made = TypeProto()
    made.tensor_type.elem_type = onnx_type(dtype)
    made.tensor_type.shape.SetInParent()
    for size in shape:
        made.tensor_type.shape.dim.add().dim_value = size
    return made


def sizes_of(kind: TypeProto) -> tuple[int | None, ...] | None:
    """The sizes of a tensor, None for unknown ones. None if the rank is unknown."""
    if not kind.tensor_type.HasField("shape"):
        return None
    dims = kind.tensor_type.shape.dim
    return tuple(d.dim_value if d.HasField("dim_value") else None for d in dims)


def dtype_of(kind: TypeProto) -> np.dtype[Any] | None:
    """The dtype of a tensor. None for other values, and for dtypes that NumPy does not support."""
    if not kind.HasField("tensor_type") or kind.tensor_type.elem_type == TensorProto.BFLOAT16:
        return None
    try:
        return numpy_type(kind.tensor_type.elem_type)
    except Unsupported:
        return None


def unsupported_reason(name: str, kind: TypeProto | None) -> str:
    """Why the device cannot read a value. Empty if its type is supported."""
    return f"it reads '{name}', {problem}" if (problem := _problem(kind)) else ""


def _problem(kind: TypeProto | None) -> str:
    if kind is None or not kind.WhichOneof("value"):
        return "whose type is unknown"
    if not kind.HasField("tensor_type"):
        return "which is not a tensor"
    dtype, sizes = dtype_of(kind), sizes_of(kind)
    if dtype is None or dtype.kind not in "biuf":
        return f"which has the dtype {dtype or type_name(kind.tensor_type.elem_type)}"
    if sizes is None or None in sizes:
        return "which has a size that depends on the data"
    shape = [size for size in sizes if size is not None]
    if len(shape) > MAX_RANK:
        return f"which has {len(shape)} dimensions; at most {MAX_RANK} are supported"
    return "" if is_possible(shape) else f"which has the impossible shape {shape}"


def with_sizes(kind: TypeProto, shapes: Shapes, name: str = "") -> TypeProto:
    """A type with the sizes of the options for named dimensions and inputs."""
    made = TypeProto()
    made.CopyFrom(kind)
    given = shapes.inputs.get(name)
    if given is not None and kind.HasField("tensor_type"):
        dtype = dtype_of(kind)
        made = made if dtype is None else tensor_type(dtype, given)
    for dim in made.tensor_type.shape.dim if made.HasField("tensor_type") else ():
        if dim.dim_param in shapes.dims:
            dim.dim_value = shapes.dims[dim.dim_param]
    return made
