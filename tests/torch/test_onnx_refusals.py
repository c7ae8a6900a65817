"""Nodes of ONNX that were refused, compared with ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes

from tests.frontend import reference_run
from tests.frontend.models import random
from tests.torch.onnx_node import LIBRARY, check


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("order", [1, 2])
def test_lp_normalization(order: int, axis: int, tmp_path: Path) -> None:
    x = random(2, 3, 4)
    x[0, :, 1] = x[1, 2] = x[:, 0, 3] = 0
    check("LpNormalization", "x", {"x": x}, {}, tmp_path, {"p": order, "axis": axis})


@pytest.mark.parametrize("shape", [(1,), (4,), (1, 4), (3, 1)], ids=str)
def test_layer_norm_with_broadcast_weights(shape: tuple[int, ...], tmp_path: Path) -> None:
    weights = {"s": random(*shape, seed=1), "b": random(*shape, seed=2)}
    check(
        "LayerNormalization", "x s b", {"x": random(2, 3, 4)}, weights, tmp_path,
        {"axis": -2 if len(shape) > 1 else -1}, opset=17,
    )  # fmt: skip


@pytest.mark.parametrize("block", [2, 3, 4])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("constant", [True, False])
def test_quantization_by_blocks(constant: bool, axis: int, block: int, tmp_path: Path) -> None:
    shape = [4, 6]
    shape[axis] = -(-shape[axis] // block)
    scales = {"s": np.abs(random(*shape, seed=3)) + 0.1}
    points = {"z": np.random.default_rng(4).integers(-9, 9, shape).astype(np.int8)}
    options = {"axis": axis, "block_size": block}
    inputs, constants = ({}, scales | points) if constant else (scales | points, {})
    x = {"x": random(4, 6) * 5}
    check("QuantizeLinear", "x s z", x | inputs, constants, tmp_path, options, result=3)
    q = {"x": np.random.default_rng(5).integers(-128, 127, (4, 6)).astype(np.int8)}
    check("DequantizeLinear", "x s z", q | inputs, constants, tmp_path, options)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller", "stretch"])
@pytest.mark.parametrize("sizes", [(7, 9), (20, 3), (5, 5)], ids=str)
def test_aspect_ratio(policy: str, sizes: tuple[int, int], tmp_path: Path) -> None:
    options = {"keep_aspect_ratio_policy": policy, "axes": [2, 3], "mode": "nearest"}
    x, n = {"x": random(1, 2, 6, 8)}, {"n": np.array(sizes)}
    check("Resize", "x - - n", x, n, tmp_path, options, opset=18)


def test_pad_with_a_constant_of_the_type_of_an_input(tmp_path: Path) -> None:
    """As in ONNX's expanded functions, such as Attention."""
    nodes = [
        helper.make_node("CastLike", ["c", "x"], ["v"]),
        helper.make_node("Pad", ["x", "p", "v"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "pad",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array(7, np.int64), "c"),
         numpy_helper.from_array(np.array([0, 1, 0, 2]), "p")],
    )  # fmt: skip
    path = tmp_path / "model.onnx"
    opsets = [helper.make_opsetid("", 21)]
    path.write_bytes(helper.make_model(graph, opset_imports=opsets).SerializeToString())
    x = random(2, 3)
    found = reference_run.run(import_model(path, LIBRARY, Shapes()), {"x": x})["y"]
    np.testing.assert_array_equal(found, np.pad(x, ((0, 0), (1, 2)), constant_values=7))
