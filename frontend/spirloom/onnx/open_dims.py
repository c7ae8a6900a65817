"""Names for the dimensions of inputs that a model leaves open without a name."""

from __future__ import annotations

from onnx import GraphProto

from spirloom.onnx.inputs import own_inputs

# Names that exporters write for unknown dimensions, which need not be equal.
_UNKNOWN = ("", "?", "None", "unknown")


def name_open_dims(graph: GraphProto) -> None:
    """Names each open dimension without a name INPUT.AXIS, in place."""
    for info in own_inputs(graph):
        if not info.type.HasField("tensor_type"):
            continue
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            is_size = dim.HasField("dim_value") and dim.dim_value >= 0
            if not is_size and dim.dim_param in _UNKNOWN:
                dim.dim_param = f"{info.name}.{axis}"
