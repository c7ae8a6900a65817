"""The table of converters: ONNX operator → the function that builds its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spirloom.onnx.context import NodeContext
from spirloom.onnx.terms import Value

Converter = Callable[[NodeContext], Value | Sequence[Value]]

CONVERTERS: dict[str, Converter] = {}


def converts(*op_types: str) -> Callable[[Converter], Converter]:
    """Registers the decorated function for ONNX operators of the default domain.

    It must handle every version from opset MIN_OPSET to MAX_OPSET (reader.py); NodeContext.opset
    tells them apart.
    """

    def register(converter: Converter) -> Converter:
        for op_type in op_types:
            assert op_type not in CONVERTERS, op_type
            CONVERTERS[op_type] = converter
        return converter

    return register
