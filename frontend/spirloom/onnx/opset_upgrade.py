"""Checks the arity of nodes, and upgrades operators from before opset 7."""

from __future__ import annotations

from functools import cache

from onnx import NodeProto, defs

from spirloom.builder import Builder, Value
from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.dtypes import value_of


def check_arity(node: NodeProto, opset: int) -> None:
    """Unsupported where a node has another number of inputs than its operator takes."""
    try:
        schema = defs.get_schema(node.op_type, opset)
    except defs.SchemaError:
        return  # newer than this ONNX
    count = len(node.input)
    newer = opset > defs.onnx_opset_version()  # may take more
    if count < schema.min_input or (count > schema.max_input and not newer):
        raise Unsupported(
            f"it has {count} inputs; {node.op_type} takes {schema.min_input} to {schema.max_input}"
        )


OLDEST_CONVERTED = 7

# Their second operand broadcasts only if `broadcast` says so, from dimension `axis` on.
_ALIGNED = frozenset(
    ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor")
)
# What sets these apart is an attribute for training, or one that means nothing to us.
_ALIKE = frozenset(("AveragePool", "BatchNormalization", "Dropout", "GRU", "Gemm", "LSTM", "RNN"))
_TRAINED = frozenset(("BatchNormalization", "Dropout"))


def modern_inputs(
    node: NodeProto, opset: int, inputs: list[Value | None], builder: Builder
) -> list[Value | None]:
    """The inputs as the node's form of opset 7 takes them. Unsupported if there is none."""
    if opset >= OLDEST_CONVERTED:
        return inputs
    if node.op_type not in _ALIKE | _ALIGNED and not _same_form(node.op_type, opset):
        raise Unsupported(
            f"its form of opset {opset} is not supported, that of {OLDEST_CONVERTED} is"
        )
    attributes = {a.name: value_of(a) for a in node.attribute}
    if node.op_type in _TRAINED and not attributes.get("is_test", 0):
        raise Unsupported("is_test is not set; export the model in inference mode (model.eval())")
    if node.op_type in _ALIGNED and attributes.get("broadcast", 0) and "axis" in attributes:
        return _aligned(inputs, attributes["axis"], builder)
    if node.op_type == "PRelu":
        return _aligned(inputs, 1, builder)  # a slope for each channel
    return inputs


def _aligned(inputs: list[Value | None], axis: object, builder: Builder) -> list[Value | None]:
    """The second operand with dimensions added behind, so that it begins at `axis` of the first."""
    a, b = inputs
    if a is None or b is None or not isinstance(axis, int):
        raise Unsupported("an operand is missing, or its attribute 'axis' has the wrong type")
    behind = len(a.shape) - axis % max(len(a.shape), 1) - len(b.shape)
    shape = (*b.shape, *[1] * max(behind, 0))
    return [a, builder.view(b, shape) if isinstance(b, Tensor) else b.reshape(shape)]


@cache
def _same_form(op_type: str, opset: int) -> bool:
    """Whether the operator had, at an old opset, the inputs, outputs and attributes it had at 7."""
    try:
        old = defs.get_schema(op_type, opset)
    except defs.SchemaError:
        return True  # it came later, and the model is not one that ONNX's checker takes
    new = defs.get_schema(op_type, OLDEST_CONVERTED)
    return old.since_version == new.since_version or _form(old) == _form(new)


def _form(schema: defs.OpSchema) -> tuple[int, int, dict[str, tuple[bool, str]]]:
    attributes = {
        name: (a.required, str(a.default_value))
        for name, a in schema.attributes.items()
        if name != "consumed_inputs"  # a hint about memory
    }
    return len(schema.inputs), len(schema.outputs), attributes
