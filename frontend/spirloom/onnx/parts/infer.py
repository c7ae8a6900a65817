"""What types a single node gives: ONNX's shape inference, told all that the importer knows."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO

from google.protobuf.message import Error
from onnx import FunctionProto, ModelProto, NodeProto, OperatorSetIdProto, TypeProto, numpy_helper

from spirloom.ir import Array

Types = Mapping[str, TypeProto]

# Runs apart, because ONNX's shape inference crashes on some damaged models.
_PROGRAM = """
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
_TIMEOUT_SECONDS = 60
# Shapes are computed from small constants only.
_MOST_CONSTANT_BYTES = 1024


class Inference:
    """Asks a process of its own, which is started with the first question."""

    def __init__(
        self, opsets: Sequence[OperatorSetIdProto], functions: Sequence[FunctionProto]
    ) -> None:
        self._opsets = opsets
        self._functions = functions
        self._process: subprocess.Popen[bytes] | None = None

    def outputs(self, node: NodeProto, types: Types, constants: Mapping[str, Array]) -> Types:
        """The types of what a node gives, as far as they follow from those of what it reads."""
        try:
            return self._ask(self._model(node, types, constants))
        except (OSError, EOFError, Error, ValueError, TypeError):
            self.close()
            return {}

    def close(self) -> None:
        """Ends the process."""
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
            if value.nbytes <= _MOST_CONSTANT_BYTES:
                graph.initializer.append(numpy_helper.from_array(value, name))
        return model

    def _ask(self, model: ModelProto) -> Types:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        content = model.SerializeToString()
        process.stdin.write(len(content).to_bytes(8, "little") + content)
        process.stdin.flush()
        if not select.select([process.stdout], [], [], _TIMEOUT_SECONDS)[0]:
            raise EOFError
        answer = _read(process.stdout, int.from_bytes(_read(process.stdout, 8), "little"))
        inferred = ModelProto()
        inferred.ParseFromString(answer)
        return {info.name: info.type for info in inferred.graph.value_info}


def _read(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content
