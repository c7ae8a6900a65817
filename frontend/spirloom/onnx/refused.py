"""Why the importer has no converter for some operators of ONNX: nothing would make one work."""

from __future__ import annotations

from onnx import NodeProto

from spirloom.onnx.reader import DEFAULT_DOMAINS

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
