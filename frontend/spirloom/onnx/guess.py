"""Stand-ins for what unsupported nodes make, so that one import reports every problem."""

from __future__ import annotations

import subprocess
import sys

from google.protobuf.message import DecodeError
from onnx import ModelProto

from spirloom.ir import Tensor
from spirloom.onnx.dtypes import dtype_of
from spirloom.onnx.external_data import is_external

# Run apart, because ONNX's shape inference crashes on some damaged models.
_PROGRAM = """
import sys, onnx
model = onnx.load_model_from_string(sys.stdin.buffer.read())
sys.stdout.buffer.write(onnx.shape_inference.infer_shapes(model).SerializeToString())
"""
_TIMEOUT_SECONDS = 60
# Shapes are computed from small constants only.
_MAX_CONSTANT_BYTES = 1024


class Guesses:
    """What ONNX's own shape inference says about the values of a model, asked only if needed."""

    def __init__(self, model: ModelProto, inputs: list[Tensor]) -> None:
        self._model = model
        self._inputs = inputs
        self._found: dict[str, Tensor] | None = None

    def get(self, name: str) -> Tensor | None:
        """A tensor of the value's type, or None where that is not known."""
        if self._found is None:
            self._found = self._infer()
        return self._found.get(name)

    def _infer(self) -> dict[str, Tensor]:
        model = _with_input_shapes(self._model, self._inputs)
        inferred = ModelProto()
        try:
            done = subprocess.run(
                [sys.executable, "-c", _PROGRAM],
                input=model.SerializeToString(),
                capture_output=True,
                timeout=_TIMEOUT_SECONDS,
                check=True,
            )
            inferred.ParseFromString(done.stdout)
        except (OSError, subprocess.SubprocessError, DecodeError, ValueError):
            return {}  # there is only less to report
        found = {}
        for info in [*inferred.graph.value_info, *inferred.graph.output]:
            kind = info.type.tensor_type
            dtype = dtype_of(kind.elem_type)
            shape = tuple(d.dim_value for d in kind.shape.dim)
            if dtype is not None and kind.HasField("shape") and all(d > 0 for d in shape):
                found[info.name] = Tensor(info.name, dtype, shape)
        return found


def _with_input_shapes(model: ModelProto, inputs: list[Tensor]) -> ModelProto:
    """A copy of the model in which only the inputs' shapes are stated, and these in full."""
    copy = ModelProto()
    copy.CopyFrom(model)
    del copy.graph.value_info[:]
    for tensor in copy.graph.initializer:
        if tensor.ByteSize() > _MAX_CONSTANT_BYTES:
            tensor.ClearField("raw_data")
        if is_external(tensor):
            tensor.ClearField("data_location")
            tensor.ClearField("external_data")
    shapes = {tensor.name: tensor.shape for tensor in inputs}
    for info in copy.graph.input:
        dims = info.type.tensor_type.shape.dim
        for dim, size in zip(dims, shapes.get(info.name, ()), strict=False):
            dim.dim_value = size
    for info in copy.graph.output:
        info.type.tensor_type.ClearField("shape")
    return copy
