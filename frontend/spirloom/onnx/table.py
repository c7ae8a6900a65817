"""The table of converters: operator → the function that builds its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import NodeProto

from spirloom.onnx.context import NodeContext
from spirloom.onnx.reader import DEFAULT_DOMAINS
from spirloom.onnx.terms import Value

Converter = Callable[[NodeContext], Value | Sequence[Value]]

CONVERTERS: dict[str, Converter] = {}


def converter_name(node: NodeProto) -> str:
    """The name under which the converter of a node stands: with its domain, unless it is ONNX's."""
    domain = "" if node.domain in DEFAULT_DOMAINS else f"{node.domain}."
    return f"{domain}{node.op_type}"


def converts(*op_types: str) -> Callable[[Converter], Converter]:
    """Registers the decorated function for operators, named as `converter_name` does.

    It must handle every version from opset MIN_OPSET to MAX_OPSET (reader.py); NodeContext.opset
    tells them apart.
    """

    def register(converter: Converter) -> Converter:
        for op_type in op_types:
            assert op_type not in CONVERTERS, op_type
            CONVERTERS[op_type] = converter
        return converter

    return register
