"""An ONNX model for the tests of the debugging commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def write_layer_norm_model(path: Path) -> Path:
    """y = second(norm(relu(first(x)))), with x [4, 16] and a norm over 24 columns."""
    random = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        values = random.standard_normal(shape).astype(np.float32)
        return numpy_helper.from_array(values / np.float32(np.sqrt(shape[0])), name)

    weights = [weight("w1", 16, 24), weight("b1", 24), weight("scale", 24), weight("shift", 24),
               weight("w2", 24, 10), weight("b2", 10)]  # fmt: skip
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["hidden"], "first"),
        helper.make_node("Relu", ["hidden"], ["active"], "relu"),
        helper.make_node("LayerNormalization", ["active", "scale", "shift"], ["normed"], "norm"),
        helper.make_node("Gemm", ["normed", "w2", "b2"], ["y"], "second"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 16])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 10])
    graph = helper.make_graph(nodes, "net", [x], [y], weights)
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), str(path))
    return path
