"""Nodes whose attributes interact, imported and compared with ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from spirloom.ir import Array

from tests.frontend.models import random
from tests.torch.onnx_node import Arrays, check


@pytest.mark.parametrize("mode", ["half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("kind", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scale", [0.7, 1.2, 1.4, 1.5, 0.9])
def test_resize_by_scales(kind: str, mode: str, scale: float, tmp_path: Path) -> None:
    """A float32 scale can be below its decimal: 10 · 0.7 is 7, and 6 / 1.2 is 5."""
    scales = np.array([1, 1, scale, scale], np.float32)
    options = {"nearest_mode": "floor"} if kind == "nearest" else {}
    check(
        "Resize", "x - s", {"x": random(1, 2, 10, 5)}, {"s": scales}, tmp_path,
        {"mode": kind, "coordinate_transformation_mode": mode, **options}, opset=13,
    )  # fmt: skip


def test_resize_with_antialiasing(tmp_path: Path) -> None:
    for mode in ("linear", "cubic"):
        for sizes in ([1, 2, 3, 4], [1, 2, 1, 9]):
            check(
                "Resize", "x - - n", {"x": random(1, 2, 8, 9)}, {"n": np.array(sizes)}, tmp_path,
                {"mode": mode, "antialias": 1,
                 "coordinate_transformation_mode": "pytorch_half_pixel"}, opset=19,
            )  # fmt: skip


POOLS: list[dict[str, object]] = [
    {"kernel_shape": [2, 2], "strides": [3, 1], "pads": [1, 1, 1, 0], "ceil_mode": 1},
    {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [0, 1, 2, 1], "ceil_mode": 1},
    {"kernel_shape": [4, 3], "strides": [3, 2], "pads": [3, 0, 0, 2], "ceil_mode": 1},
    {"kernel_shape": [3, 3], "strides": [2, 3], "auto_pad": "SAME_UPPER", "ceil_mode": 1},
    {"kernel_shape": [2, 3], "strides": [2, 1], "auto_pad": "SAME_LOWER", "ceil_mode": 1},
    {"kernel_shape": [2, 4], "strides": [3, 3], "auto_pad": "VALID", "ceil_mode": 1},
]


@pytest.mark.parametrize("size", [(8, 4), (9, 7), (11, 5)], ids=str)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "AveragePool padding", "LpPool"])
@pytest.mark.parametrize("attributes", POOLS, ids=str)
def test_pools_that_round_up(
    op: str, attributes: dict[str, object], size: tuple[int, int], tmp_path: Path
) -> None:
    """A window may start in the input or the padding before it, but not in that after it."""
    name, _, padding = op.partition(" ")
    extra = {"count_include_pad": 1} if padding else {}
    x = random(1, 2, *size)
    check(name, "x", {"x": x}, {}, tmp_path, {**attributes, **extra}, opset=22)


@pytest.mark.parametrize("zero", [np.int8, np.uint8, None])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize("axis", [None, 1])
def test_quantize(zero: type | None, kind: type, axis: int | None, tmp_path: Path) -> None:
    x: Array = (random(3, 4, 5) * 9).astype(kind)
    count = [] if axis is None else [x.shape[axis]]
    constants: Arrays = {"s": np.full(count, 0.05, kind)}
    options = {} if axis is None else {"axis": axis}
    if zero is None:
        options["output_dtype"] = TensorProto.INT8
    else:
        constants["z"] = np.full(count, 7, zero)
    kept: np.dtype[Any] = np.dtype(zero or np.int8)
    result = helper.np_dtype_to_tensor_dtype(kept)
    names = "x s" if zero is None else "x s z"
    check("QuantizeLinear", names, {"x": x}, constants, tmp_path, options, result)
    options.pop("output_dtype", None)
    given = {"x": np.arange(60).reshape(3, 4, 5).astype(kept)}
    floats = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    check("DequantizeLinear", names, given, constants, tmp_path, options, floats)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
def test_cumulative_sum(exclusive: int, reverse: int, tmp_path: Path) -> None:
    x = np.array([[1, 1e10, 3, np.inf], [2, -5, 7, 4]], np.float32)
    check(
        "CumSum", "x a", {"x": x}, {"a": np.array(1)}, tmp_path,
        {"exclusive": exclusive, "reverse": reverse},
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap", "constant"])
@pytest.mark.parametrize("pads", [[-1, 2, 0, -2], [1, -1, -2, 3], [-2, -1, 0, 0]], ids=str)
def test_negative_pads(mode: str, pads: list[int], tmp_path: Path) -> None:
    given = {"x": random(6, 7)}
    check("Pad", "x p", given, {"p": np.array(pads)}, tmp_path, {"mode": mode}, opset=19)


def scaled(scale: float, zero: int, names: str = "s z", kind: type = np.uint8) -> Arrays:
    """A scale and a zero point, by these names."""
    values: list[Array] = [np.array(scale, np.float32), np.array(zero, kind)]
    return dict(zip(names.split(), values, strict=True))


BYTES: Arrays = {
    "a": np.random.default_rng(0).integers(0, 256, (2, 3, 4, 5)).astype(np.uint8),
    "b": np.random.default_rng(1).integers(0, 256, (2, 3, 4, 5)).astype(np.uint8),
}
SCALES = scaled(0.03, 120, "sa za") | scaled(0.05, 90, "sb zb") | scaled(0.07, 100, "sy zy")


@pytest.mark.parametrize(
    ("op", "names", "attributes"),
    [
        ("QLinearAdd", "a sa za b sb zb sy zy", {}),
        ("QLinearMul", "a sa za b sb zb sy zy", {}),
        ("QLinearSigmoid", "a sa za sy zy", {}),
        ("QLinearLeakyRelu", "a sa za sy zy", {"alpha": 0.1}),
        ("QLinearGlobalAveragePool", "a sa za sy zy", {}),
        ("QLinearConcat", "sy zy a sa za b sb zb", {"axis": 1}),
    ],
)
def test_runtime_quantized(
    op: str, names: str, attributes: dict[str, object], tmp_path: Path
) -> None:
    used = names.split()
    check(
        f"com.microsoft.{op}", names, {n: v for n, v in BYTES.items() if n in used},
        {n: v for n, v in SCALES.items() if n in used}, tmp_path, attributes, TensorProto.UINT8,
        opset=17, tolerance=1,
    )  # fmt: skip


def test_matmul_integer_to_float(tmp_path: Path) -> None:
    x = np.arange(24).reshape(4, 6).astype(np.uint8)
    w = np.arange(-15, 15).reshape(6, 5).astype(np.int8)
    columns = np.linspace(0.01, 0.05, 5).astype(np.float32)
    constants: Arrays = {"w": w, "ws": columns, "b": random(5)}
    constants |= scaled(0.03, 12, "xs xz")
    constants["wz"] = np.zeros(5, np.int8)
    check(
        "com.microsoft.MatMulIntegerToFloat", "x w xs ws xz wz b", {"x": x}, constants, tmp_path,
        {}, opset=17,
    )  # fmt: skip


def test_dynamic_quantization(tmp_path: Path) -> None:
    """The results agree within the error of ONNX Runtime's 8-bit activations. Weights have 7 bits:
    on CPUs without VNNI, its sums of two products saturate at 16 bits.
    """
    weight = np.random.default_rng(2).integers(-64, 64, (6, 5)).astype(np.int8)
    constants: Arrays = {"w": weight, "b": random(5)} | scaled(0.01, 3, "s z", np.int8)
    check(
        "com.microsoft.DynamicQuantizeMatMul", "x w s z b", {"x": random(4, 6)}, constants,
        tmp_path, {}, opset=17, tolerance=0.02,
    )  # fmt: skip
    gates: Arrays = {
        "w": np.random.default_rng(3).integers(-64, 64, (2, 6, 12)).astype(np.int8),
        "r": np.random.default_rng(4).integers(-64, 64, (2, 3, 12)).astype(np.int8),
        "b": random(2, 24),
        "ws": np.array([0.01, 0.02], np.float32), "wz": np.array([0, 0], np.int8),
        "rs": np.array([0.02, 0.01], np.float32), "rz": np.array([0, 0], np.int8),
    }  # fmt: skip
    check(
        "com.microsoft.DynamicQuantizeLSTM", "x w r b - - - - ws wz rs rz", {"x": random(7, 2, 6)},
        gates, tmp_path, {"hidden_size": 3, "direction": "bidirectional"}, opset=17, tolerance=0.05,
    )  # fmt: skip


@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions(keepdims: int, tmp_path: Path) -> None:
    """Means of integers round toward zero; the maximum of no element is -inf."""
    x = np.array([[-7, 2, 3], [8, 9, -1]], np.int32)
    options = {"keepdims": keepdims}
    check("ReduceMean", "x a", {"x": x}, {"a": np.array([1])}, tmp_path, options,
          TensorProto.INT32, opset=18)  # fmt: skip
    for op in ("ReduceMax", "ReduceMin"):
        empty: Arrays = {"x": np.zeros((2, 0, 3), np.float32)}
        check(op, "x a", empty, {"a": np.array([1])}, tmp_path, options, opset=20)
