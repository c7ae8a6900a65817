"""Types and shapes of values whose nodes are not imported, by ONNX's shape inference."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import IO

from google.protobuf.message import DecodeError, Error
from onnx import FunctionProto, ModelProto, NodeProto, OperatorSetIdProto, TypeProto, numpy_helper

from spirloom import child_python
from spirloom.ir import Array, Tensor
from spirloom.onnx.dtypes import dtype_of
from spirloom.onnx.external_data import is_external
from spirloom.sizes import SymInt

# A separate process, because ONNX's shape inference crashes on some damaged models.
_MODEL_PROGRAM = """
import sys, onnx
model = onnx.load_model_from_string(sys.stdin.buffer.read())
sys.stdout.buffer.write(onnx.shape_inference.infer_shapes(model).SerializeToString())
"""
_TIMEOUT_SECONDS = 60
# Shapes are computed from small constants only.
_MAX_CONSTANT_BYTES = 1024


class ModelInference:
    """Inferred types of the values of a model. Inference runs on the first query."""

    def __init__(self, model: ModelProto, inputs: list[Tensor]) -> None:
        self._model = model
        self._inputs = inputs
        self._found: dict[str, TypeProto.Tensor] | None = None

    def get(self, name: str) -> Tensor | None:
        """A tensor of the value's type, or None if it is unknown."""
        kind, shape = self._types().get(name), self.shape_of(name)
        dtype = None if kind is None else dtype_of(kind.elem_type)
        sizes = [size for size in shape or () if size is not None]
        if dtype is None or shape is None or len(sizes) != len(shape):
            return None
        return Tensor(name, dtype, tuple(sizes))

    def shape_of(self, name: str) -> list[int | None] | None:
        """The sizes, None for unknown ones, or None if the rank is unknown."""
        kind = self._types().get(name)
        if kind is None or not kind.HasField("shape"):
            return None
        return [int(d.dim_value) if d.dim_value > 0 else None for d in kind.shape.dim]

    def _types(self) -> dict[str, TypeProto.Tensor]:
        if self._found is None:
            self._found = self._infer()
        return self._found

    def _infer(self) -> dict[str, TypeProto.Tensor]:
        model = _with_input_shapes(self._model, self._inputs)
        inferred = ModelProto()
        try:
            done = child_python.run(
                "-c",
                _MODEL_PROGRAM,
                input=model.SerializeToString(),
                capture_output=True,
                timeout=_TIMEOUT_SECONDS,
                check=True,
            )
            inferred.ParseFromString(done.stdout)
        except (OSError, subprocess.SubprocessError, DecodeError, ValueError):
            return {}  # fewer problems can be reported
        infos = [*inferred.graph.value_info, *inferred.graph.output]
        return {info.name: info.type.tensor_type for info in infos}


def _with_input_shapes(model: ModelProto, inputs: list[Tensor]) -> ModelProto:
    """A copy of the model with complete input shapes and no other shapes."""
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
            if not isinstance(size, SymInt):
                dim.dim_value = size
    for info in copy.graph.output:
        info.type.tensor_type.ClearField("shape")
    return copy


Types = Mapping[str, TypeProto]

_NODE_PROGRAM = """
import sys, onnx
from onnx.shape_inference import infer_shapes
while head := sys.stdin.buffer.read(8):
    content = sys.stdin.buffer.read(int.from_bytes(head, "little"))
    try:
        model = infer_shapes(onnx.load_model_from_string(content), data_prop=True)
        answer = model.SerializeToString()
    except Exception:
        answer = b""
    sys.stdout.buffer.write(len(answer).to_bytes(8, "little") + answer)
    sys.stdout.buffer.flush()
"""


class NodeInference:
    """Infers the types of single nodes, in a process that the first query starts."""

    def __init__(
        self, opsets: Sequence[OperatorSetIdProto], functions: Sequence[FunctionProto]
    ) -> None:
        self._opsets = opsets
        self._functions = functions
        self._process: subprocess.Popen[bytes] | None = None

    def outputs(self, node: NodeProto, types: Types, constants: Mapping[str, Array]) -> Types:
        """The inferred types of a node's outputs. Unknown ones are absent."""
        try:
            return self._infer(self._model(node, types, constants))
        except (OSError, EOFError, Error, ValueError, TypeError):
            self.close()
            return {}

    def close(self) -> None:
        """Terminates the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _model(self, node: NodeProto, types: Types, constants: Mapping[str, Array]) -> ModelProto:
        model = ModelProto(ir_version=8)
        model.opset_import.extend(self._opsets)
        model.functions.extend(self._functions)
        graph = model.graph
        graph.name = "one"
        graph.node.add().CopyFrom(node)
        for name, kind in types.items():
            info = graph.input.add(name=name)
            info.type.CopyFrom(kind)
        for name, value in constants.items():
            if value.nbytes <= _MAX_CONSTANT_BYTES:
                graph.initializer.append(numpy_helper.from_array(value, name))
        return model

    def _infer(self, model: ModelProto) -> Types:
        if self._process is None:
            self._process = child_python.start(
                "-c",
                _NODE_PROGRAM,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        content = model.SerializeToString()
        process.stdin.write(len(content).to_bytes(8, "little") + content)
        process.stdin.flush()
        limit = threading.Timer(_TIMEOUT_SECONDS, process.kill)  # which ends the output
        limit.start()
        try:
            answer = _read(process.stdout, int.from_bytes(_read(process.stdout, 8), "little"))
        finally:
            limit.cancel()
        inferred = ModelProto()
        inferred.ParseFromString(answer)
        return {info.name: info.type for info in inferred.graph.value_info}


def _read(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content
