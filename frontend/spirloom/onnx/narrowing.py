"""The types of ONNX nodes' results, and the value ranges of the calls that compute them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx.defs import SchemaError

from spirloom.ir import DType, Node, Tensor
from spirloom.narrowing import Narrowing
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type
from spirloom.onnx.size_arrays import Known
from spirloom.value_bounds import is_wide

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
    """The ONNX type of an output, from those of the inputs. None if it is certainly supported."""
    formal = _formal_types(ctx.op_type, ctx.opset)
    if formal is None or not formal[1]:
        return None
    given, results = formal
    parameter = results[min(index, len(results) - 1)]
    if parameter in _FIXED:
        return np.dtype(_FIXED[parameter])
    for i, found in enumerate(inputs if given else ()):
        if given[min(i, len(given) - 1)] == parameter and found is not None:
            return found
    named = [ctx.integer(name, 0) for name in ("to", "dtype") if ctx.has(name)]
    return numpy_type(named[0]) if named else None


@cache
def _formal_types(op_type: str, opset: int) -> tuple[list[str], list[str]] | None:
    """The types of the formal inputs and outputs of an operator. None if it is unknown."""
    try:
        schema = onnx.defs.get_schema(op_type, min(opset, onnx.defs.onnx_opset_version()))
    except SchemaError:
        return None
    return [_type_of(i) for i in schema.inputs], [_type_of(o) for o in schema.outputs]


def _type_of(formal: Any) -> str:
    """The type of a formal parameter. The field has another name before ONNX 1.13."""
    return str(formal.type_str if hasattr(formal, "type_str") else formal.typeStr)


def follow(
    narrowing: Narrowing, ctx: NodeContext, results: Sequence[Known], calls: Sequence[Node]
) -> list[Known]:
    """Derives the value ranges of a node's results from those of the calls that compute them.
    Raises Unsupported if a value of a call may not be exact in its device type.

    A result that is an input with another ONNX type becomes a new tensor.
    """
    if not any(isinstance(value, Tensor) for value in results):
        return list(results)
    inputs = [None if v is None else _dtype(narrowing, v) for v in ctx.inputs]
    types = [output_type(ctx, i, inputs) for i in range(len(results))]
    known = {v: t for v, t in zip(results, types, strict=True) if isinstance(v, Tensor)}
    names = dict(zip(known, ctx.node.output, strict=False))
    inner = _inner_types(types)
    for call in calls:
        if all(map(narrowing.is_known, call.outputs)):
            continue
        dtypes = [known.get(x) or inner.get(x.dtype, x.dtype.numpy) for x in call.outputs]
        named = next((names[x] for x in call.outputs if x in names), ctx.node.output[0])
        args = ctx.build.library.named_args(call)
        narrowing.follow(call.op, args, call.outputs, dtypes, named)
    return [
        _with_type(narrowing, ctx, value, types[i], i) if isinstance(value, Tensor) else value
        for i, value in enumerate(results)
    ]


def _inner_types(outputs: Sequence[np.dtype[Any] | None]) -> dict[DType, np.dtype[Any]]:
    """The types in which calls within a node compute, by device type: those of wide results."""
    wide = [dtype for dtype in outputs if dtype is not None and is_wide(dtype)]
    return {DType.F32 if dtype.kind == "f" else DType.I32: dtype for dtype in reversed(wide)}


def _dtype(narrowing: Narrowing, value: Known) -> np.dtype[Any]:
    return narrowing.dtype_of(value) if isinstance(value, Tensor) else value.dtype


def _with_type(
    narrowing: Narrowing, ctx: NodeContext, value: Tensor, dtype: np.dtype[Any] | None, index: int
) -> Tensor:
    before = narrowing.dtype_of(value)
    wanted = value.dtype.numpy if dtype is None or not is_wide(dtype) else dtype
    if before == wanted:
        return value
    return narrowing.retyped(ctx.build, value, wanted, ctx.node.output[index])
