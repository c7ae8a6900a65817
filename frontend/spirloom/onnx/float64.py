"""Makes a float64 model one of float32, where the user accepts the rounding."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from spirloom.onnx.terms import Unsupported
from spirloom.onnx.unpack import array_of

# Attributes that name an element type.
_TYPES = ("dtype", "to")


def to_float32(model: ModelProto) -> None:
    """Replaces float64 by float32 everywhere, in place; constants are rounded once."""
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
        with suppress(Unsupported), np.errstate(over="ignore"):  # whoever uses it will tell
            values = array_of(tensor, "").astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
