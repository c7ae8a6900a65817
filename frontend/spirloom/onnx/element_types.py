"""The element types of a node's outputs, as ONNX's own operator schemas tell them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx.defs import OpSchema, SchemaError

from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type

_FIXED = {
    "tensor(double)": np.float64,
    "tensor(int16)": np.int16,
    "tensor(int64)": np.int64,
    "tensor(uint16)": np.uint16,
    "tensor(uint32)": np.uint32,
    "tensor(uint64)": np.uint64,
}


def output_type(
    ctx: NodeContext, index: int, inputs: Sequence[np.dtype[Any] | None]
) -> np.dtype[Any] | None:
    """The type of an output, given those of the inputs; None where it is surely one of ours."""
    schema = _schema(ctx.op_type, min(ctx.opset, onnx.defs.onnx_opset_version()))
    if schema is None or not schema.outputs:
        return None
    parameter = _type_of(schema.outputs[min(index, len(schema.outputs) - 1)])
    if parameter in _FIXED:
        return np.dtype(_FIXED[parameter])
    for i, found in enumerate(inputs if schema.inputs else ()):
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        if _type_of(formal) == parameter and found is not None:
            return found
    named = [ctx.integer(name, 0) for name in ("to", "dtype") if ctx.has(name)]
    return numpy_type(named[0]) if named else None


def _type_of(formal: Any) -> str:
    """The type of a formal parameter; until ONNX 1.13 the field was called otherwise."""
    return str(formal.type_str if hasattr(formal, "type_str") else formal.typeStr)


@cache
def _schema(op_type: str, opset: int) -> OpSchema | None:
    try:
        return onnx.defs.get_schema(op_type, opset)
    except SchemaError:
        return None
