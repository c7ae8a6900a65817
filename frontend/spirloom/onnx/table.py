"""The table of converters: ONNX operator → the function that builds its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spirloom.ir import Array, Tensor

if TYPE_CHECKING:
    from spirloom.onnx.context import NodeContext

# What an ONNX name stands for: a constant known at import, in ONNX's own type, or a tensor.
Value = Array | Tensor
Converter = Callable[["NodeContext"], Value | Sequence[Value]]

CONVERTERS: dict[str, Converter] = {}


class Unsupported(Exception):
    """Why a node cannot be imported. Collected, so that one message lists every such node."""


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
