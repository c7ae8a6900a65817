"""Constant folding of operators whose results are not those of a call: constants, ranges, mel
weights, and results whose shape depends on values.
"""

from __future__ import annotations

import numpy as np
from onnx import AttributeProto, TensorProto

from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.onnx.constant_folding.registry import folds
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import array_of, dense_array_of, numpy_type


@folds("Constant")
def _constant(ctx: NodeContext, inputs: list[Array]) -> Array:
    if ctx.has("value"):
        return array_of(ctx.attribute("value").t, "its value")
    if ctx.has("sparse_value"):
        sparse = ctx.attribute("sparse_value").sparse_tensor
        ctx.check_size(sparse.dims, numpy_type(sparse.values.data_type).itemsize)
        return dense_array_of(sparse)
    for name, dtype in (("float", np.float32), ("int", np.int64)):
        for key in (f"value_{name}", f"value_{name}s"):
            if ctx.has(key):
                attribute = ctx.attribute(key)
                kind = AttributeProto.AttributeType.Name(attribute.type)
                if kind not in ("FLOAT", "FLOATS", "INT", "INTS"):
                    raise Unsupported(f"its attribute '{key}' has the wrong type")
                fields = {"FLOAT": "f", "FLOATS": "floats", "INT": "i", "INTS": "ints"}
                value = getattr(attribute, fields[kind])
                return np.array(value if kind in ("FLOAT", "INT") else list(value), dtype=dtype)
    raise Unsupported("only tensors, floats and ints are supported")


@folds("ConstantOfShape")
def _constant_of_shape(ctx: NodeContext, inputs: list[Array]) -> Array:
    shape = [int(d) for d in inputs[0].flat]
    value = np.zeros(1, np.float32)
    if ctx.has("value"):
        value = array_of(ctx.attribute("value").t, "its value").reshape(-1)
    ctx.check_size(shape, value.itemsize)
    return np.full(shape, value[0], dtype=value.dtype)


@folds("Range")
def _range(ctx: NodeContext, inputs: list[Array]) -> Array:
    start, limit, delta = (i.item() for i in inputs)
    if delta == 0:
        raise Unsupported("its delta is 0")
    count = max(int(np.ceil((limit - start) / delta)), 0)
    ctx.check_size([count], inputs[0].itemsize)
    return np.asarray(start + np.arange(count) * delta, dtype=inputs[0].dtype)


@folds("MelWeightMatrix")
def _mel_weight_matrix(ctx: NodeContext, inputs: list[Array]) -> Array:
    """Triangles [frequency, mel bin] between the frequencies of equal steps on the mel scale."""
    bins, length, rate, *edges = (i.item() for i in inputs)
    ctx.check_size([length // 2 + 1, bins + 2], np.dtype(np.float64).itemsize)
    low, high = (np.log1p(edge / 700) for edge in edges)
    mels = low + np.arange(bins + 2) * ((high - low) / (bins + 2))
    points = (length + 1) * 700 * np.expm1(mels) // rate
    at = np.arange(length // 2 + 1)[:, None]
    lower, center, upper = points[:-2], points[1:-1], points[2:]
    # A side without width is its end only.
    rising = np.where(lower == center, at == center, (at - lower) / (center - lower))
    falling = (upper - at) / (upper - center)
    inside = (lower <= at) & (at <= center), (center <= at) & (at < upper)
    weights = np.select(inside[::-1], [falling, rising], 0.0)
    return weights.astype(numpy_type(ctx.integer("output_datatype", TensorProto.FLOAT)))


@folds("NonZero")
def _non_zero(ctx: NodeContext, inputs: list[Array]) -> Array:
    ctx.check_size([inputs[0].ndim, int(np.count_nonzero(inputs[0]))], np.dtype(np.int64).itemsize)
    return np.array(np.nonzero(inputs[0]), dtype=np.int64)
