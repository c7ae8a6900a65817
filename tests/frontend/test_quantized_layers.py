"""Quantized operators compared with integer arithmetic."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto
from spirloom.errors import ImportFailure
from spirloom.ir import Array
from spirloom.onnx.dtypes import onnx_type
from spirloom.op_library import OpLibrary

from tests.frontend.models import compute, imported, model, node


def run(
    library: OpLibrary,
    folder: Path,
    made: NodeProto,
    x: Array,
    constants: dict[str, Array],
    opset: int = 13,
) -> Array:
    kind = onnx_type(x.dtype)
    graph = imported(
        model([made], {"x": x.shape}, constants, dtype=kind, opset=opset), library, folder
    )
    return compute(graph, x)


def bytes_(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def test_long_integer_products_are_exact(library: OpLibrary, tmp_path: Path) -> None:
    x, weight = bytes_(3, 1000), bytes_(1000, 5, seed=1)
    x[0], weight[:, 0] = 255, 255  # the maximum sum, which float32 cannot represent
    y = run(library, tmp_path, node("MatMulInteger", "x w"), x, {"w": weight}, 10)
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, x.astype(np.int64) @ weight.astype(np.int64))


def test_zero_points_of_rows_and_columns(library: OpLibrary, tmp_path: Path) -> None:
    x, weight = bytes_(2, 3, 7), bytes_(7, 4, seed=1)
    rows, columns = bytes_(3, seed=2), bytes_(4, seed=3)
    made = node("MatMulInteger", "x w a b")
    y = run(library, tmp_path, made, x, {"w": weight, "a": rows, "b": columns}, 10)
    left = x.astype(np.int64) - rows.astype(np.int64)[:, None]
    np.testing.assert_array_equal(y, left @ (weight.astype(np.int64) - columns))


def test_deep_integer_convolutions_are_exact(library: OpLibrary, tmp_path: Path) -> None:
    x, weight = bytes_(1, 300, 2, 2), bytes_(4, 300, 2, 2, seed=1)
    x[:], weight[0] = 255, 255
    y = run(library, tmp_path, node("ConvInteger", "x w"), x, {"w": weight}, 10)
    expected = np.einsum("nchw,ochw->no", x.astype(np.int64), weight.astype(np.int64))
    np.testing.assert_array_equal(y[:, :, 0, 0], expected)


def test_integer_convolutions_that_may_round(library: OpLibrary, tmp_path: Path) -> None:
    weight = np.full((2, 1, 17, 17), 255, np.uint8)
    with pytest.raises(ImportFailure, match="float32 may round sums over the 289 elements"):
        run(library, tmp_path, node("ConvInteger", "x w"), bytes_(1, 1, 20, 20), {"w": weight}, 10)


def test_quantized_convolution_per_channel(library: OpLibrary, tmp_path: Path) -> None:
    x, weight = bytes_(1, 3, 4, 4), bytes_(2, 3, 1, 1, seed=1)
    bias = np.array([500, -700], np.int32)
    scale, step = np.array([0.5, 0.25], np.float32), np.float32(64.0)
    constants: dict[str, Array] = {
        "xs": np.array(0.125, np.float32),
        "xz": np.array(100, np.uint8),
        "w": weight,
        "ws": scale,
        "wz": np.array([128, 120], np.uint8),
        "ys": np.array(step, np.float32),
        "yz": np.array(77, np.uint8),
        "b": bias,
    }
    y = run(library, tmp_path, node("QLinearConv", "x xs xz w ws wz ys yz b"), x, constants, 10)
    filters = weight[:, :, 0, 0].astype(np.int64) - np.array([[128], [120]])
    sums = np.einsum("nchw,oc->nohw", x.astype(np.int64) - 100, filters) + bias[:, None, None]
    scaled = np.rint(sums * (0.125 * scale / step)[:, None, None]) + 77
    np.testing.assert_array_equal(y, scaled.clip(0, 255).astype(np.uint8))


def test_constant_weights_stay_int8(library: OpLibrary, tmp_path: Path) -> None:
    weight, scale = bytes_(4, 3), np.array([0.5, 0.25, 2.0], np.float32)
    nodes = [node("DequantizeLinear", "w s z", "d", axis=1), node("MatMul", "x d")]
    constants = {"w": weight, "s": scale, "z": np.array([1, 2, 3], np.uint8)}
    graph = imported(model(nodes, {"x": (2, 4)}, constants), library, tmp_path)
    assert [n.op for n in graph.nodes] == ["spirloom.linear_w8"]
    x = np.eye(4, dtype=np.float32)[:2]
    np.testing.assert_array_equal(compute(graph, x), ((weight - [1.0, 2.0, 3.0]) * scale)[:2])


@pytest.mark.parametrize("zeros", [0, 3])
def test_scales_and_zero_points_of_other_counts(
    library: OpLibrary, tmp_path: Path, zeros: int
) -> None:
    scale, zero = np.ones(1, np.float32), np.zeros(1, np.uint8)
    constants: dict[str, Array] = {
        "xs": scale, "xz": zero, "w": bytes_(7, 2), "ws": np.ones(2, np.float32),
        "wz": np.zeros(zeros, np.uint8), "ys": scale, "yz": zero,
    }  # fmt: skip
    made = node("QLinearMatMul", "x xs xz w ws wz ys yz")
    with pytest.raises(ImportFailure, match=f"its weight has 2 scales and {zeros} zero points"):
        run(library, tmp_path, made, bytes_(3, 7), constants)
