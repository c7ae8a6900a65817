"""Proves that int32 can replace int64 (and similar types) in each ONNX node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx.defs import OpSchema, SchemaError

from spec_model.traits import Trait
from spirloom import interval
from spirloom.errors import Unsupported
from spirloom.interval import EVERYTHING, Interval
from spirloom.ir import DType, Tensor
from spirloom.onnx.bounds import RULES, bounds_of
from spirloom.onnx.context import NodeContext
from spirloom.onnx.dtypes import numpy_type
from spirloom.onnx.size_arrays import Known, LeadingPart, SizeArray
from spirloom.value_bounds import ValueRange, exact_interval, is_wide, known_of, reason_against

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
    """The type of a formal parameter. The field has another name before ONNX 1.13."""
    return str(formal.type_str if hasattr(formal, "type_str") else formal.typeStr)


@cache
def _schema(op_type: str, opset: int) -> OpSchema | None:
    try:
        return onnx.defs.get_schema(op_type, opset)
    except SchemaError:
        return None


class Narrowing:
    """The value ranges of the tensors of a graph during import."""

    def __init__(self, inputs: Mapping[Tensor, ValueRange], assume_int32: bool = False) -> None:
        self._ranges = dict(inputs)
        self._assume_int32 = assume_int32

    def declare(self, tensor: Tensor, values: ValueRange) -> None:
        """Sets the range of a tensor that no node computes."""
        self._ranges[tensor] = values

    def range_of(self, tensor: Tensor) -> ValueRange:
        """The range of a tensor. By default that of its dtype."""
        known = self._ranges.get(tensor)
        return known or ValueRange(tensor.dtype.numpy, interval.of_type(tensor.dtype.numpy))

    def follow(self, ctx: NodeContext, results: Sequence[Known]) -> list[Known]:
        """Records the ranges of a node's results. Raises Unsupported if one is not proven exact.

        A result that is an input with another ONNX type becomes a new tensor.
        """
        if not any(isinstance(value, Tensor) for value in results):
            return list(results)
        inputs = [None if v is None else self._of(ctx, v) for v in ctx.inputs]
        known = [EVERYTHING if given is None else given.bounds for given in inputs]
        bounds = list(bounds_of(ctx, known, len(results)))
        types = [None if given is None else given.dtype for given in inputs]
        followed: list[Known] = []
        for i, value in enumerate(results):
            if isinstance(value, Tensor):
                if ctx.op_type not in RULES:
                    bounds[i] = self._selected(ctx, value)
                found = known_of(value.dtype, output_type(ctx, i, types), bounds[i])
                if self._assume_int32 and found.dtype.kind in "iu" and not found.exact:
                    limits = exact_interval(found.dtype)
                    fitting = found.bounds.clamped(limits.low, limits.high)
                    found = ValueRange(found.dtype, replace(fitting, integral=True))
                if not found.exact and not self._same_floats(ctx, inputs, value):
                    name = ctx.node.output[i] if i < len(ctx.node.output) else ""
                    raise Unsupported(reason_against(name, value.dtype, found))
                value = self._recorded(ctx, value, found)
            followed.append(value)
        return followed

    def _recorded(self, ctx: NodeContext, value: Tensor, found: ValueRange) -> Tensor:
        before = self._ranges.get(value)
        if before is not None and before.dtype == found.dtype:
            return value
        if before is not None:
            value = ctx.build.emit("aten.view", x=value, size=value.shape)
        self._ranges[value] = found
        return value

    def _of(self, ctx: NodeContext, value: Known) -> ValueRange:
        """The range of an input. Rearranged tensors have that of their operands."""
        if isinstance(value, SizeArray):
            return ValueRange(value.dtype, value.bounds())
        if isinstance(value, LeadingPart):
            return ValueRange(value.dtype, interval.of_array(value.array))
        if not isinstance(value, Tensor):
            return ValueRange(value.dtype, interval.of_array(value))
        is_new = value not in self._ranges
        if is_new and (sources := self._sources(ctx, value, Trait.SELECTS)):
            # Control flow and sequences split and concatenate values.
            parts = [self._of(ctx, part) for part in sources]
            wide = [part.dtype for part in parts if is_wide(part.dtype)]
            dtype = wide[0] if wide else value.dtype.numpy
            self._ranges[value] = ValueRange(dtype, interval.hull(part.bounds for part in parts))
        if value not in self._ranges:
            known = interval.of_type(value.dtype.numpy)
            known = known if value.data is None else interval.of_array(value.data)
            self._ranges[value] = ValueRange(value.dtype.numpy, known)
        return self._ranges[value]

    def _selected(self, ctx: NodeContext, value: Tensor) -> Interval:
        """The bounds of a result by those of the tensors that its elements are from."""
        if value in self._ranges or value.data is not None:
            return self._of(ctx, value).bounds
        sources = self._sources(ctx, value, Trait.SELECTS)
        return interval.hull(self._selected(ctx, x) for x in sources) if sources else EVERYTHING

    def _same_floats(
        self, ctx: NodeContext, inputs: Sequence[ValueRange | None], value: Tensor
    ) -> bool:
        """Whether a node only copies values that float32 already represents."""
        first = inputs[0] if inputs else None
        if value.dtype is not DType.F32:
            return False
        if ctx.op_type in ("Cast", "CastLike"):
            return first is not None and first.dtype.kind == "f"
        return self._copied(ctx, value)

    def _copied(self, ctx: NodeContext, value: Tensor) -> bool:
        if value in self._ranges or value.data is not None:
            return True
        sources = self._sources(ctx, value, Trait.EXACT)
        return bool(sources) and all(self._copied(ctx, source) for source in sources)

    def _sources(self, ctx: NodeContext, value: Tensor, trait: Trait) -> list[Tensor]:
        """The tensors whose elements a call with the trait returns; none for other calls."""
        maker, library = ctx.build.makers.get(value), ctx.build.library
        if maker is None or library.output_dtypes(maker.op)[maker.outputs.index(value)]:
            return []  # indices, or bools
        args = dict(zip(library.arg_names(maker.op), maker.args, strict=True))
        return (
            library.value_tensors(maker.op, args)
            if library.has_trait(maker.op, trait, args)
            else []
        )
