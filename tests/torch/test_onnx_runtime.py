"""Nodes whose attributes interact, imported and compared with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import]
import pytest
from onnx import TensorProto, helper, numpy_helper
from spirloom.ir import Array
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.ops import OpLibrary

from tests.frontend import reference_run
from tests.frontend.models import random

LIBRARY = OpLibrary()
Arrays = dict[str, Array]


def check(
    op: str,
    names: str,
    arrays: Arrays,
    constants: Arrays,
    tmp_path: Path,
    attributes: Mapping[str, object],
    result: int = TensorProto.FLOAT,
    opset: int = 21,
) -> None:
    """Compares the output of one node. `names` are its inputs; `-` is an absent one."""
    inputs = ["" if name == "-" else name for name in names.split()]
    node = helper.make_node(op, inputs, ["y"], **attributes)
    graph = helper.make_graph(
        [node],
        op,
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in arrays.items()
        ],
        [helper.make_tensor_value_info("y", result, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, arrays)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    found = reference_run.run(import_model(path, LIBRARY, Shapes()), arrays)["y"]
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    tolerance = 1e-3 if expected.dtype == np.float16 else 1e-5
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


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
