"""Between ONNX's element types, NumPy's and ours."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from spirloom.ir import DType
from spirloom.onnx.terms import Unsupported

_DTYPES = {
    TensorProto.FLOAT: DType.F32,
    TensorProto.FLOAT16: DType.F16,
    TensorProto.INT32: DType.I32,
    TensorProto.INT8: DType.I8,
    TensorProto.UINT8: DType.U8,
    TensorProto.BOOL: DType.B8,
}

# What ONNX's library has for this differs from version to version.
_NUMPY: dict[int, type[np.generic]] = {
    TensorProto.BOOL: np.bool_,
    TensorProto.COMPLEX64: np.complex64,
    TensorProto.COMPLEX128: np.complex128,
    TensorProto.DOUBLE: np.float64,
    TensorProto.FLOAT: np.float32,
    TensorProto.FLOAT16: np.float16,
    TensorProto.INT8: np.int8,
    TensorProto.INT16: np.int16,
    TensorProto.INT32: np.int32,
    TensorProto.INT64: np.int64,
    TensorProto.UINT8: np.uint8,
    TensorProto.UINT16: np.uint16,
    TensorProto.UINT32: np.uint32,
    TensorProto.UINT64: np.uint64,
}
_ONNX = {np.dtype(known): onnx_type for onnx_type, known in _NUMPY.items()}


def dtype_of(onnx_type: int) -> DType | None:
    """Our type of an ONNX element type, or None."""
    return _DTYPES.get(onnx_type)


def type_name(onnx_type: int) -> str:
    """ONNX's name of an element type, e.g. INT64."""
    try:
        return str(TensorProto.DataType.Name(onnx_type))
    except ValueError:
        return f"type {onnx_type}"


def numpy_type(onnx_type: int) -> np.dtype[Any]:
    """The NumPy type of an ONNX element type."""
    known = _NUMPY.get(onnx_type)
    if known is None:
        raise Unsupported(f"the element type {type_name(onnx_type)} is not supported")
    return np.dtype(known)


def onnx_type(dtype: np.dtype[Any]) -> int:
    """The ONNX element type of a NumPy type; UNDEFINED if it has none."""
    return _ONNX.get(dtype.newbyteorder("="), TensorProto.UNDEFINED)
