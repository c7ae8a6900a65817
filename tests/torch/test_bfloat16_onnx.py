"""BFLOAT16 of ONNX compared with ONNX Runtime: casts, inputs, outputs, weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import]
import torch
from onnx import TensorProto, helper
from spirloom import Runtime, graph_file
from spirloom.ir import DType, Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize

BF16, F32 = TensorProto.BFLOAT16, TensorProto.FLOAT
ROWS, DEPTH, COLUMNS = 3, 64, 10


def bits_of(x: torch.Tensor) -> Any:
    """bfloat16 values as uint16."""
    return x.view(torch.int16).numpy().view(np.uint16)


def imported(model: Any, path: Path) -> Graph:
    onnx.checker.check_model(model)
    onnx.save(model, path)
    library = OpLibrary()
    graph = import_model(path, library, Shapes())
    optimize(graph, library)
    return graph


def model_of(nodes: list[Any], x: Any, y: Any, initializers: list[Any]) -> Any:
    graph = helper.make_graph(nodes, "g", [x], [y], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def of_runtime(model: Any, x: Any, kind: int) -> Any:
    """The output of ONNX Runtime's CPU provider; bfloat16 as uint16."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    value = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(x, kind)
    (found,) = session.run_with_ort_values(None, {"x": value})
    return found


def test_casts_of_every_code(tmp_path: Path) -> None:
    codes = torch.arange(1 << 16).to(torch.int32).to(torch.uint16).view(torch.bfloat16)
    info = helper.make_tensor_value_info
    model = model_of(
        [helper.make_node("Cast", ["x"], ["y"], to=F32)],
        info("x", BF16, [1 << 16]),
        info("y", F32, [1 << 16]),
        [],
    )
    graph = imported(model, tmp_path / "model.onnx")
    (found,) = Runtime().load(graph_file.to_bytes(graph))(codes)
    np.testing.assert_array_equal(found, of_runtime(model, bits_of(codes), BF16).numpy())


def test_weights_inputs_and_outputs(tmp_path: Path) -> None:
    """ONNX Runtime computes in float32 between explicit casts."""
    torch.manual_seed(0)
    x = torch.randn(ROWS, DEPTH).bfloat16()
    weight, bias = torch.randn(DEPTH, COLUMNS).bfloat16(), torch.randn(COLUMNS).bfloat16()
    initializers = [
        helper.make_tensor("w", BF16, weight.shape, bits_of(weight).tobytes(), raw=True),
        onnx.TensorProto(
            name="b", data_type=BF16, dims=bias.shape, int32_data=bits_of(bias).tolist()
        ),
    ]
    nodes = [helper.make_node("Cast", [name], [f"{name}32"], to=F32) for name in ("x", "w", "b")]
    nodes += [
        helper.make_node("Gemm", ["x32", "w32", "b32"], ["y32"]),
        helper.make_node("Cast", ["y32"], ["y"], to=BF16),
    ]
    info = helper.make_tensor_value_info
    model = model_of(
        nodes, info("x", BF16, x.shape), info("y", BF16, [ROWS, COLUMNS]), initializers
    )
    graph = imported(model, tmp_path / "model.onnx")
    assert [node.op for node in graph.nodes].count("spirloom.linear_bf16") == 1
    assert graph.inputs[0].dtype is graph.outputs[0].dtype is DType.BF16
    (found,) = Runtime().load(graph_file.to_bytes(graph))(x)
    # OrtValue.numpy() has no bfloat16; the same model without the last cast.
    model.graph.node.pop()
    model.graph.output[0].CopyFrom(info("y32", F32, [ROWS, COLUMNS]))
    wanted = torch.from_numpy(of_runtime(model, bits_of(x), BF16).numpy())
    assert found.dtype is torch.bfloat16
    assert (found.float() - wanted).abs().max() <= 2**-8 * wanted.abs().max()
