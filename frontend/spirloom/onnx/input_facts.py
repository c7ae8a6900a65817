"""What is known of inputs: element types, and bounds that are stated or follow from uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from spirloom import interval
from spirloom.bounds import arithmetic
from spirloom.bounds.facts import Facts
from spirloom.bounds.wide import exact_interval, is_wide, narrow_type
from spirloom.errors import ImportFailure
from spirloom.interval import EVERYTHING, Interval
from spirloom.ir import DType
from spirloom.onnx.dtypes import numpy_type, type_name
from spirloom.onnx.terms import Unsupported

_INT32 = interval.of_type(DType.I32.numpy)

_SMALL_TYPES: dict[int | None, np.dtype[Any]] = {
    t: numpy_type(t)
    for t in (TensorProto.INT32, TensorProto.INT16, TensorProto.INT8, TensorProto.UINT8)
}

# (operator, place of the input) where numbers count or pick elements: such numbers fit 32 bits.
_INDEX_INPUTS = {
    ("Gather", 1),
    ("GatherElements", 1),
    ("GatherND", 1),
    ("MaxUnpool", 1),
    ("NegativeLogLikelihoodLoss", 1),
    ("OneHot", 0),
    ("ReverseSequence", 1),
    ("RoiAlign", 2),
    ("Scatter", 1),
    ("ScatterElements", 1),
    ("ScatterND", 1),
    ("SoftmaxCrossEntropyLoss", 1),
}
# Of these, the numbers pick along one axis of input 0.
_ALONG_AXIS = ("Gather", "GatherElements", "Scatter", "ScatterElements")
# (domain, operator, place of the input) → the input whose rows it picks, from the first.
_INDEXED_ROWS = {
    ("", "RotaryEmbedding", 3): 1,
    ("com.microsoft", "RotaryEmbedding", 1): 2,
}
# What gives the numbers of its input 0, all of them and no others.
_KEEPING = ("Expand", "Flatten", "Identity", "Reshape", "Squeeze", "Tile", "Transpose", "Unsqueeze")
# What asks for nothing but the shape: the type does not matter.
_MEASURING = ("Shape", "Size")


def input_facts(info: ValueInfoProto, graph: GraphProto, stated: Interval | None) -> Facts:
    """The facts about an input; `stated` are its bounds as the user says. Raises ImportFailure."""
    if not info.type.HasField("tensor_type"):
        raise ImportFailure(f"Input '{info.name}' is no tensor; only tensors are supported.")
    onnx_type = info.type.tensor_type.elem_type
    what = f"Input '{info.name}' has element type {type_name(onnx_type)}"
    try:
        dtype = numpy_type(onnx_type)
    except Unsupported as error:
        raise ImportFailure(f"{what}, which is not supported.") from error
    if dtype.kind not in "biuf":
        raise ImportFailure(f"{what}, which is not supported.")
    if is_wide(dtype) and all(n.op_type in _MEASURING for n, _ in _uses(info.name, graph)):
        return Facts(dtype, interval.of_type(narrow_type(dtype).numpy))
    if is_wide(dtype) and dtype.kind == "f":
        if _only_rounded(info.name, graph):
            return Facts(dtype, EVERYTHING)
        raise ImportFailure(
            f"{what}, which Spirloom does not have and cannot narrow safely. "
            "Accept the rounding to float32 with --float64-as-float32, or export it in float32."
        )
    own = interval.of_type(dtype)
    limits = exact_interval(dtype) if is_wide(dtype) else own
    if stated is not None:
        if dtype.kind not in "iuf" or dtype == np.float16:
            raise ImportFailure(f"{what}; --range is for integers and float32.")
        if not stated.within(limits):
            raise ImportFailure(f"{what}, and Spirloom holds {limits} of it, not {stated}.")
        return Facts(dtype, replace(stated, whole=dtype.kind != "f"))
    if own.within(limits):
        return Facts(dtype, own)
    found = list(_uses_as_index(info.name, graph))
    if not found:
        raise ImportFailure(
            f"{what}, which Spirloom does not have and cannot narrow safely: how it is used sets "
            f"no bounds. State them with --range {info.name}=LOW..HIGH, or export an int32 input."
        )
    return Facts(dtype, Interval(max(i.low for i in found), min(i.high for i in found)))


def _only_rounded(name: str, graph: GraphProto) -> bool:
    """Whether a float64 value is used for nothing but casts to float32: it may come in as such."""
    uses = [node for node, _ in _uses(name, graph)]
    return bool(uses) and all(_cast_target(node) == TensorProto.FLOAT for node in uses)


def _uses_as_index(name: str, graph: GraphProto) -> Iterator[Interval]:
    """The bounds that each use as an index sets, or a cast to 32 bits or less; others set none."""
    names = [name]  # what stands for the same numbers; grows on the way
    for same in names:
        for node, place in _uses(same, graph):
            target = _cast_target(node)
            rows = _INDEXED_ROWS.get((node.domain, node.op_type, place))
            if rows is not None and rows < len(node.input):
                yield arithmetic.below(*_constant_shape(node.input[rows], graph)[:1] or [1 << 31])
            elif (node.op_type, place) in _INDEX_INPUTS:
                yield _places(node, graph)
            elif target in _SMALL_TYPES:
                yield interval.of_type(_SMALL_TYPES[target])
            elif (node.op_type in _KEEPING and place == 0) or target == TensorProto.INT64:
                names += [output for output in node.output[:1] if output not in names]


def _uses(name: str, graph: GraphProto) -> Iterator[tuple[NodeProto, int]]:
    for node in graph.node:
        for place, used in enumerate(node.input):
            if used == name:
                yield node, place


def _cast_target(node: NodeProto) -> int | None:
    """The type that a Cast gives; None for other nodes."""
    found = [int(a.i) for a in node.attribute if a.name == "to" and node.op_type == "Cast"]
    return found[0] if found else None


def _places(node: NodeProto, graph: GraphProto) -> Interval:
    """The bounds of an index: places of the axis it counts along, also from the end."""
    shape = _constant_shape(node.input[0], graph)
    axis = next((int(a.i) for a in node.attribute if a.name == "axis"), 0)
    if node.op_type not in _ALONG_AXIS or not -len(shape) <= axis < len(shape):
        return _INT32
    return Interval(-shape[axis], max(shape[axis] - 1, 0))


def _constant_shape(name: str, graph: GraphProto) -> list[int]:
    """The shape of an initializer; empty for others."""
    return next((list(t.dims) for t in graph.initializer if t.name == name), [])
