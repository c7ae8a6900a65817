"""Between ONNX's element types and ours; nothing is narrowed unless the values stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto
from onnx.mapping import TENSOR_TYPE_TO_NP_TYPE

from spirloom import interval
from spirloom.interval import Interval
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


def narrow_type(dtype: np.dtype[Any]) -> DType:
    """The type that computes for an element type: itself, or one of 32 bits in its place."""
    own = DType.of(dtype)
    if own is not None:
        return own
    if dtype.kind not in "iuf":
        raise Unsupported(f"the element type {dtype} is not supported")
    return DType.F32 if dtype.kind == "f" else DType.I32


def is_wide(dtype: np.dtype[Any]) -> bool:
    """Whether Spirloom has no such type, so that another one stands in for it."""
    return DType.of(dtype) is None


def exact_interval(dtype: np.dtype[Any]) -> Interval:
    """The numbers for which the type that stands in computes the same."""
    if dtype.kind == "f":
        return Interval(-(1 << 24), 1 << 24)
    own, ours = (interval.of_type(d) for d in (dtype, DType.I32.numpy))
    return Interval(max(own.low, ours.low), min(own.high, ours.high))


def narrowed(values: Array) -> Array:
    """The same values in a type Spirloom has; Unsupported if that would change one."""
    target = narrow_type(values.dtype).numpy
    if target == values.dtype:
        return values
    with np.errstate(over="ignore"):
        result = values.astype(target)
    changed = ~((result == values) | ((result != result) & (values != values)))
    if changed.any():
        example = values[changed].flat[0]
        remedy = "; accept its rounding with --float64-as-float32" if target.kind == "f" else ""
        raise Unsupported(
            f"a {values.dtype} constant holds {example}, which {target} cannot hold{remedy}"
        )
    return result
