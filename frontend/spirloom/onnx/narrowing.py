"""Proves that int32 can replace int64 (and similar types) in each ONNX node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx.defs import OpSchema, SchemaError

from spirloom import interval
from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.interval import EVERYTHING
from spirloom.ir import DType, Tensor
from spirloom.onnx.bounds import SELECTING, bounds_of
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type
from spirloom.value_bounds import ValueRange, is_wide, known_of, reason_against

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


# What control flow and sequences take values apart and put them together with.
_PARTING = ("aten.cat", "aten.select.int", "aten.slice.Tensor", "aten.view")


class Narrowing:
    """The facts about the tensors of a graph while it is imported."""

    def __init__(self, inputs: Mapping[Tensor, ValueRange]) -> None:
        self._facts = dict(inputs)

    def declare(self, tensor: Tensor, facts: ValueRange) -> None:
        """Sets what is known of a tensor that no node of the graph makes."""
        self._facts[tensor] = facts

    def facts_of(self, tensor: Tensor) -> ValueRange:
        """What is known of a tensor; no more than its type tells where nothing was learnt."""
        known = self._facts.get(tensor)
        return known or ValueRange(tensor.dtype.numpy, interval.of_type(tensor.dtype.numpy))

    def follow(self, ctx: NodeContext, results: Sequence[Value]) -> list[Value]:
        """Learns about what a node gives; Unsupported if some is not known to be exact.

        Of what has another type than the input that it is, the result is a tensor of its own.
        """
        inputs = [None if v is None else self._of(ctx, v) for v in ctx.inputs]
        known = [EVERYTHING if facts is None else facts.bounds for facts in inputs]
        bounds = bounds_of(ctx, known, len(results))
        types = [None if facts is None else facts.dtype for facts in inputs]
        followed: list[Value] = []
        for i, value in enumerate(results):
            if isinstance(value, Tensor):
                found = known_of(value.dtype, output_type(ctx, i, types), bounds[i])
                if not found.exact and not _same_floats(ctx, inputs, value.dtype):
                    name = ctx.node.output[i] if i < len(ctx.node.output) else ""
                    raise Unsupported(reason_against(name, value.dtype, found))
                value = self._remember(ctx, value, found)
            followed.append(value)
        return followed

    def _remember(self, ctx: NodeContext, value: Tensor, facts: ValueRange) -> Tensor:
        before = self._facts.get(value)
        if before is not None and before.dtype == facts.dtype:
            return value
        if before is not None:
            value = ctx.build.emit("aten.view", x=value, size=value.shape)
        self._facts[value] = facts
        return value

    def _of(self, ctx: NodeContext, value: Value) -> ValueRange:
        """The facts about an input; tensors made of parts of others have theirs."""
        if not isinstance(value, Tensor):
            return ValueRange(value.dtype, interval.of_array(value))
        maker = ctx.build.makers.get(value)
        if value not in self._facts and maker is not None and maker.op in _PARTING:
            parts = [self._of(ctx, part) for part in maker.inputs()]
            wide = [part.dtype for part in parts if is_wide(part.dtype)]
            dtype = wide[0] if wide else value.dtype.numpy
            self._facts[value] = ValueRange(dtype, interval.hull(part.bounds for part in parts))
        if value not in self._facts:
            known = interval.of_type(value.dtype.numpy)
            known = known if value.data is None else interval.of_array(value.data)
            self._facts[value] = ValueRange(value.dtype.numpy, known)
        return self._facts[value]


def _same_floats(ctx: NodeContext, inputs: Sequence[ValueRange | None], ours: DType) -> bool:
    """Whether a node only passes on numbers that float32 stands in for already."""
    first = inputs[0] if inputs else None
    if ctx.op_type in ("Cast", "CastLike"):
        return ours is DType.F32 and first is not None and first.dtype.kind == "f"
    return ours is DType.F32 and ctx.op_type in SELECTING
