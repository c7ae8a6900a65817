"""Between ONNX's element types and ours; nothing is narrowed unless the values stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto
from onnx.mapping import TENSOR_TYPE_TO_NP_TYPE

from spirloom.ir import Array, DType
from spirloom.onnx.table import Unsupported

_DTYPES = {
    TensorProto.FLOAT: DType.F32,
    TensorProto.FLOAT16: DType.F16,
    TensorProto.INT32: DType.I32,
    TensorProto.INT8: DType.I8,
    TensorProto.UINT8: DType.U8,
    TensorProto.BOOL: DType.B8,
}

# Types all of whose values fit in 32-bit integers.
SMALL_INTEGERS = (DType.I32, DType.I8, DType.U8, DType.B8)


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
    known = TENSOR_TYPE_TO_NP_TYPE.get(onnx_type)
    if known is None or onnx_type in (TensorProto.STRING, TensorProto.BFLOAT16):
        raise Unsupported(f"the element type {type_name(onnx_type)} is not supported")
    return np.dtype(known)


def narrowed(values: Array) -> Array:
    """The same values in a type Spirloom has; Unsupported if that would change one."""
    if DType.of(values.dtype) is not None:
        return values
    if values.dtype.kind in "iu":
        target: type[np.generic] = np.int32
    elif values.dtype.kind == "f":
        target = np.float32
    else:
        raise Unsupported(f"a constant has element type {values.dtype}")
    with np.errstate(over="ignore"):
        result = values.astype(target)
    changed = ~((result == values) | ((result != result) & (values != values)))
    if changed.any():
        example = values[changed].flat[0]
        raise Unsupported(
            f"a {values.dtype} constant holds {example}, which {np.dtype(target)} cannot hold"
        )
    return result
