"""8-bit floats of ONNX compared with ONNX Runtime: Cast, QuantizeLinear, DequantizeLinear, and
Gather from a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import]
import pytest
from onnx import TensorProto, helper
from spirloom import Runtime, graph_file
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize

X = np.concatenate([
    np.linspace(-500, 500, 401), np.linspace(-0.05, 0.05, 101), [448, 464, 465, 6e4, -7e4, 0, -0.0],
]).astype(np.float32)  # fmt: skip
TYPES = pytest.mark.parametrize("dtype", ["FLOAT8E4M3FN", "FLOAT8E5M2"])


def compared(
    nodes: list[Any], initializers: list[Any], tmp_path: Any, x: Any = X, y_shape: Any = X.shape
) -> set[str]:
    """Runs nodes from x to y with both. Returns the operators that the graph has."""
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, y_shape)],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (wanted,) = session.run(None, {"x": x})
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    library = OpLibrary()
    imported = import_model(path, library, Shapes())
    optimize(imported, library)
    (found,) = Runtime().load(graph_file.to_bytes(imported))(x)
    assert np.array_equal(found, wanted)
    return {node.op for node in imported.nodes}


@pytest.mark.parametrize(
    ("dtype", "saturate"), [("FLOAT8E4M3FN", 1), ("FLOAT8E5M2", 0), ("FLOAT8E5M2", 1)]
)
def test_cast(dtype: str, saturate: int, tmp_path: Any) -> None:
    target = TensorProto.DataType.Value(dtype)
    nodes = [
        helper.make_node("Cast", ["x"], ["c"], to=target, saturate=saturate),
        helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT),
    ]
    compared(nodes, [], tmp_path)


@TYPES
def test_quantize_and_dequantize(dtype: str, tmp_path: Any) -> None:
    target = TensorProto.DataType.Value(dtype)
    initializers = [
        helper.make_tensor("scale", TensorProto.FLOAT, [], [0.75]),
        helper.make_tensor("zero", target, [], b"\0", raw=True),
    ]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    compared(nodes, initializers, tmp_path)


@TYPES
def test_a_table_stays_8_bits(dtype: str, tmp_path: Any) -> None:
    target = TensorProto.DataType.Value(dtype)
    codes = np.random.default_rng(0).integers(0, 0x70, (36, 64), dtype=np.uint8)
    initializers = [
        helper.make_tensor("table", target, [36, 64], codes.tobytes(), raw=True),
        helper.make_tensor("scale", TensorProto.FLOAT, [], [0.75]),
        helper.make_tensor("zero", target, [], b"\0", raw=True),
    ]
    nodes = [
        helper.make_node("DequantizeLinear", ["table", "scale", "zero"], ["w"]),
        helper.make_node("Gather", ["w", "x"], ["y"]),
    ]
    index = np.array([[3, 0, 35], [-1, 7, 20]])
    assert "spirloom.embedding_f8" in compared(nodes, initializers, tmp_path, index, (2, 3, 64))
