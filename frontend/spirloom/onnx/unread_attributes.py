"""Refuses attributes that change an operator but that its converter does not read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import onnx
from onnx import AttributeProto, NodeProto
from onnx.defs import SchemaError

from spirloom.errors import Unsupported
from spirloom.onnx.dtypes import value_of
from spirloom.onnx.opset_upgrade import OLDEST_CONVERTED

# Attributes without effect on results in inference, by operator. "": any operator.
_WITHOUT_EFFECT = {
    "": {"consumed_inputs"},  # a hint about memory
    "BatchNormalization": {"is_test", "momentum", "spatial"},
    "Cast": {"round_mode", "saturate"},  # of 8-bit floats
    "CastLike": {"round_mode", "saturate"},
    "Dropout": {"is_test", "ratio", "seed"},
    "GroupQueryAttention": {"rotary_interleaved"},  # read with do_rotary
    "MatMulNBits": {"accuracy_level"},
    "MultiHeadAttention": {"mask_filter_value"},  # read with a mask
    "QuantizeLinear": {"saturate"},
    "TopK": {"sorted"},  # results are always sorted
}
# Read by opset_upgrade.py.
_BEFORE_OPSET_7 = {"axis", "broadcast", "is_test", "output_sequence"}
# Defaults of ONNX Runtime's operators that are not zero or empty.
_RUNTIME_DEFAULTS = {"axis": -1, "k_quant_type": b"NONE", "v_quant_type": b"NONE"}
# The precision of intermediate results. Spirloom computes in float32.
_PRECISIONS = ("softmax_precision", "stash_type")
_SINGLE_OR_LESS = (
    onnx.TensorProto.UNDEFINED,
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.FLOAT16,
    onnx.TensorProto.BFLOAT16,
)


def refuse_unread(node: NodeProto, opset: int, read: Iterable[str]) -> None:
    """Raises Unsupported for an attribute that was not read and is not at its default."""
    known = {*read, *_WITHOUT_EFFECT[""], *_WITHOUT_EFFECT.get(node.op_type, ())}
    known |= _BEFORE_OPSET_7 if opset < OLDEST_CONVERTED else set()
    for attribute in node.attribute:
        if attribute.name in known or attribute.type == AttributeProto.GRAPH:
            continue
        value = value_of(attribute)
        if attribute.name in _PRECISIONS and value in _SINGLE_OR_LESS:
            continue
        if not _is_default(node, opset, attribute):
            shown = value.decode(errors="replace") if isinstance(value, bytes) else value
            raise Unsupported(f"its attribute {attribute.name}={shown} is not supported")


def _is_default(node: NodeProto, opset: int, attribute: AttributeProto) -> bool:
    """Whether an attribute is at its default. Without one: whether it is zero or empty."""
    defaults = _defaults(node.op_type, node.domain, opset)
    default, value = defaults.get(attribute.name), value_of(attribute)
    if default is not None and default.type:
        return bool(value_of(default) == value)
    if attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS):
        return not any(value)
    return not value or (default is None and _RUNTIME_DEFAULTS.get(attribute.name) == value)


@cache
def _defaults(op_type: str, domain: str, opset: int) -> dict[str, AttributeProto]:
    try:
        latest = onnx.defs.onnx_opset_version()
        schema = onnx.defs.get_schema(op_type, min(opset, latest), domain)
    except SchemaError:
        return {}
    return {name: attribute.default_value for name, attribute in schema.attributes.items()}
