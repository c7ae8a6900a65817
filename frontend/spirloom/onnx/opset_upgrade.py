"""Checks the arity of nodes, and upgrades operators from before opset 7."""

from __future__ import annotations

from functools import cache

from onnx import NodeProto, defs

from spirloom.builder import Builder
from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.dtypes import value_of
from spirloom.onnx.size_arrays import Known, LeadingPart, SizeArray


def check_arity(node: NodeProto, opset: int) -> None:
    """Raises Unsupported if a node has more or fewer inputs than its operator accepts."""
    try:
        schema = defs.get_schema(node.op_type, opset)
    except defs.SchemaError:
        return  # newer than the onnx package
    count = len(node.input)
    newer = opset > defs.onnx_opset_version()  # may accept more
    if count < schema.min_input or (count > schema.max_input and not newer):
        raise Unsupported(
            f"it has {count} inputs; {node.op_type} accepts {schema.min_input} to "
            f"{schema.max_input}"
        )


OLDEST_CONVERTED = 7

# Binary operators with explicit broadcasting: attribute `broadcast`, from dimension `axis` on.
_ALIGNED = frozenset(
    ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor")
)
# Operators that differ from opset 7 only in attributes for training or without effect.
_COMPATIBLE = frozenset(
    ("AveragePool", "BatchNormalization", "Dropout", "GRU", "Gemm", "LSTM", "RNN")
)
_TRAINED = frozenset(("BatchNormalization", "Dropout"))


def modern_inputs(
    node: NodeProto, opset: int, inputs: list[Known | None], builder: Builder
) -> list[Known | None]:
    """The inputs as in opset 7. Raises Unsupported if the versions are incompatible."""
    if opset >= OLDEST_CONVERTED:
        return inputs
    if node.op_type not in _COMPATIBLE | _ALIGNED and not _same_signature(node.op_type, opset):
        raise Unsupported(
            f"its version of opset {opset} is not supported. Export opset {OLDEST_CONVERTED} or "
            "later"
        )
    attributes = {a.name: value_of(a) for a in node.attribute}
    if node.op_type in _TRAINED and not attributes.get("is_test", 0):
        raise Unsupported("is_test is not set; export the model in inference mode (model.eval())")
    if node.op_type in _ALIGNED and attributes.get("broadcast", 0) and "axis" in attributes:
        return _aligned(inputs, attributes["axis"], builder)
    if node.op_type == "PRelu":
        return _aligned(inputs, 1, builder)  # a slope for each channel
    return inputs


def _aligned(inputs: list[Known | None], axis: object, builder: Builder) -> list[Known | None]:
    """Appends dimensions to the second operand, so that it begins at `axis` of the first."""
    a, b = inputs
    if isinstance(b, SizeArray | LeadingPart):
        raise Unsupported("its second operand depends on sizes")
    if a is None or b is None or not isinstance(axis, int):
        raise Unsupported("an operand is missing, or its attribute 'axis' has the wrong type")
    trailing = len(a.shape) - axis % max(len(a.shape), 1) - len(b.shape)
    shape = (*b.shape, *[1] * max(trailing, 0))
    return [a, builder.view(b, shape) if isinstance(b, Tensor) else b.reshape(shape)]


@cache
def _same_signature(op_type: str, opset: int) -> bool:
    """Whether inputs, outputs and attributes are those of opset 7."""
    try:
        old = defs.get_schema(op_type, opset)
    except defs.SchemaError:
        return True  # introduced later: ONNX's checker rejects the model
    new = defs.get_schema(op_type, OLDEST_CONVERTED)
    return old.since_version == new.since_version or _signature(old) == _signature(new)


def _signature(schema: defs.OpSchema) -> tuple[int, int, dict[str, tuple[bool, str]]]:
    attributes = {
        name: (a.required, str(a.default_value))
        for name, a in schema.attributes.items()
        if name != "consumed_inputs"  # a hint about memory
    }
    return len(schema.inputs), len(schema.outputs), attributes
