"""Element types of ONNX, NumPy and Spirloom, and the arrays stored in tensors and attributes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    helper,
    numpy_helper,
)

from spec_model.flatbuffer import MalformedBuffer
from spec_model.stored_float import decoded, encoded, float_format
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType
from spirloom.onnx.external_data import external_array, is_external

# Values of BFLOAT16 are computed in float32, which represents all of them.
_DTYPES: dict[int, DType] = {dtype.row.onnx: dtype for dtype in DType} | {
    TensorProto.BFLOAT16: DType.F32
}

# The equivalent in the onnx package depends on its version.
_NUMPY: dict[int, np.dtype[Any]] = {
    onnx_type: dtype.numpy for onnx_type, dtype in _DTYPES.items()
} | {
    TensorProto.COMPLEX64: np.dtype(np.complex64),
    TensorProto.COMPLEX128: np.dtype(np.complex128),
    TensorProto.DOUBLE: np.dtype(np.float64),
    TensorProto.INT16: np.dtype(np.int16),
    TensorProto.INT64: np.dtype(np.int64),
    TensorProto.UINT16: np.dtype(np.uint16),
    TensorProto.UINT32: np.dtype(np.uint32),
    TensorProto.UINT64: np.dtype(np.uint64),
}
_ONNX = {
    known: onnx_type for onnx_type, known in _NUMPY.items() if onnx_type != TensorProto.BFLOAT16
}


def dtype_of(onnx_type: int) -> DType | None:
    """The DType that computes an ONNX element type, or None."""
    return _DTYPES.get(onnx_type)


def type_name(onnx_type: int) -> str:
    """The ONNX name of an element type, e.g. INT64."""
    try:
        return str(TensorProto.DataType.Name(onnx_type))
    except ValueError:
        return f"type {onnx_type}"


def numpy_type(onnx_type: int) -> np.dtype[Any]:
    """The NumPy type of an ONNX element type; float32 for BFLOAT16."""
    known = _NUMPY.get(onnx_type)
    if known is None:
        raise Unsupported(f"the element type {type_name(onnx_type)} is not supported")
    return known


def onnx_type(dtype: np.dtype[Any]) -> int:
    """The ONNX element type of a NumPy type. UNDEFINED if it has none."""
    known: int = _ONNX.get(dtype.newbyteorder("="), TensorProto.UNDEFINED)
    return known


def rounded_to_bfloat16(values: Array) -> Array:
    """Numbers rounded to bfloat16, in float32."""
    return decoded(encoded(values.astype(np.float32), DType.BF16), DType.BF16)


def array_of(tensor: TensorProto, what: str) -> Array:
    """The elements of a tensor in its ONNX type, float32 for BFLOAT16. Raises Unsupported, naming
    it as `what`, if type, shape and bytes do not match. The onnx package reports this by several
    exception types.
    """
    try:
        if tensor.data_type == TensorProto.BFLOAT16:
            return decoded(_bfloat16_of(tensor), DType.BF16)
        if is_external(tensor):
            return external_array(tensor, numpy_type(tensor.data_type))
        own = dtype_of(tensor.data_type)
        if own is not None and float_format(own) is not None:  # to_array() depends on the version
            codes = np.frombuffer(tensor.raw_data or bytes(tensor.int32_data), np.uint8)
            return codes.view(own.numpy).reshape(tuple(tensor.dims))
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError, OverflowError, MalformedBuffer) as error:
        raise Unsupported(f"{what} is damaged: {error}") from error


def dense_array_of(sparse: SparseTensorProto) -> Array:
    """The elements of a sparse tensor. The caller checks its size. Raises Unsupported."""
    values = array_of(sparse.values, "its sparse value")
    indices = array_of(sparse.indices, "its sparse value's indices")
    shape = tuple(sparse.dims)
    if indices.ndim == 2 and indices.shape[1] == len(shape):
        columns = tuple(indices.T)
        inside = all(((c >= 0) & (c < n)).all() for c, n in zip(columns, shape, strict=True))
        indices = np.ravel_multi_index(columns, shape) if inside else np.full(len(indices), -1)
    in_range = ((indices >= 0) & (indices < prod(shape))).all()
    if indices.shape != values.shape or values.ndim != 1 or not in_range:
        raise Unsupported(
            f"its {values.size} sparse values do not fit their indices in {list(shape)}"
        )
    result = np.zeros(prod(shape), values.dtype)
    result[indices] = values
    return result.reshape(shape)


def _bfloat16_of(tensor: TensorProto) -> Array:
    dtype = DType.BF16.numpy
    if is_external(tensor):
        return external_array(tensor, dtype)
    if tensor.HasField("raw_data"):
        stored = np.frombuffer(tensor.raw_data, dtype)
    else:
        stored = np.array(tensor.int32_data, np.int32).astype("<u2").view(dtype)
    return stored.reshape(tuple(tensor.dims))


def value_of(attribute: AttributeProto) -> Any:
    """The value of an attribute. Raises Unsupported if its type is unknown."""
    try:
        return helper.get_attribute_value(attribute)
    except ValueError as error:
        raise Unsupported(f"its attribute '{attribute.name}' has an unknown type") from error


# Attributes that name an element type.
_TYPES = ("dtype", "to")


def to_float32(model: ModelProto) -> None:
    """Replaces float64 with float32 everywhere, in place. Constants are rounded once."""
    _convert_graph(model.graph)
    for function in model.functions:
        _convert_nodes(function.node)


def _convert_graph(graph: GraphProto) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.type.tensor_type.elem_type == TensorProto.DOUBLE:
            info.type.tensor_type.elem_type = TensorProto.FLOAT
    for tensor in graph.initializer:
        _convert_tensor(tensor)
    _convert_nodes(graph.node)


def _convert_nodes(nodes: Iterable[NodeProto]) -> None:
    for node in nodes:
        for attribute in node.attribute:
            if attribute.name in _TYPES and attribute.i == TensorProto.DOUBLE:
                attribute.i = TensorProto.FLOAT
            if attribute.type == AttributeProto.TENSOR:
                _convert_tensor(attribute.t)
            if attribute.type == AttributeProto.GRAPH:
                _convert_graph(attribute.g)


def _convert_tensor(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.DOUBLE:
        with suppress(Unsupported), np.errstate(over="ignore"):  # its readers report it
            values = array_of(tensor, "").astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
