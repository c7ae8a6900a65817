"""Constant folding of operators whose results are not those of a call: constants, ranges, and
results whose shape depends on values.
"""

from __future__ import annotations

import numpy as np
from onnx import AttributeProto

from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.onnx.constant_folding.registry import folds
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import array_of


@folds("Constant")
def _constant(ctx: NodeContext, inputs: list[Array]) -> Array:
    if ctx.has("value"):
        return array_of(ctx.attribute("value").t, "its value")
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
    raise Unsupported("only tensor, float and int constants are supported")


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


@folds("NonZero")
def _non_zero(ctx: NodeContext, inputs: list[Array]) -> Array:
    ctx.check_size([inputs[0].ndim, int(np.count_nonzero(inputs[0]))], np.dtype(np.int64).itemsize)
    return np.array(np.nonzero(inputs[0]), dtype=np.int64)
