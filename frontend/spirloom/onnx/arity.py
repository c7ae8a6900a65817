"""How many inputs and outputs nodes have: a model whose opset is new is not checked by ONNX."""

from __future__ import annotations

from onnx import NodeProto, defs

from spirloom.onnx.terms import Unsupported


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
