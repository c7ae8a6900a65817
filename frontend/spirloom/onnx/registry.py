"""The registry of ONNX converters, and the reasons why some operators have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import NodeProto

from spirloom.builder import Value
from spirloom.onnx.context import NodeContext
from spirloom.onnx.reader import DEFAULT_DOMAINS

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


_SIZE = "how many elements it gives depends on the data, and shapes are fixed at import"
_STRINGS = "it works on strings"
_SEQUENCES = "it works on sequences or optional values; only tensors are supported"
_RANDOM = "it draws random numbers, which no two implementations draw alike"
_TRAINING = "it trains; only inference is supported"

_BY_OPERATOR = {
    "Bernoulli": _RANDOM,
    "Multinomial": _RANDOM,
    "NonMaxSuppression": _SIZE,
    "NonZero": _SIZE,
    "Optional": _SEQUENCES,
    "OptionalGetElement": _SEQUENCES,
    "OptionalHasElement": _SEQUENCES,
    "RandomNormal": _RANDOM,
    "RandomNormalLike": _RANDOM,
    "RandomUniform": _RANDOM,
    "RandomUniformLike": _RANDOM,
    "SequenceMap": _SEQUENCES,
    "StringNormalizer": _STRINGS,
    "TfIdfVectorizer": "it counts words, as text models do before the network",
    "Unique": _SIZE,
}
_BY_DOMAIN = {"ai.onnx.preview.training": _TRAINING, "ai.onnx.training": _TRAINING}


def reason(node: NodeProto) -> str:
    """Why there is no converter for a node."""
    if node.domain in _BY_DOMAIN:
        return _BY_DOMAIN[node.domain]
    if node.domain not in DEFAULT_DOMAINS:
        return f"the operator domain '{node.domain}' is unknown"
    return _BY_OPERATOR.get(node.op_type, "there is no converter for it")
