"""ONNX operators on images: Resize, RoiAlign, GridSample, pools. The oracle is ONNX Runtime,
or PyTorch where it differs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import spirloom
import torch
from onnx import TensorProto, helper
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.ir import Array

from tests.frontend.models import random
from tests.torch.onnx_node import Arrays, check, model_of, run_imported


def floats(*values: float) -> Array:
    return np.array(values, np.float32)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("shape", "scales"),
    [
        ((1, 1, 2, 4), (1, 1, 0.6, 0.6)),
        ((1, 1, 3, 3), (1, 1, 1.5, 0.7)),
        ((1, 2, 5, 7), (1, 1, 0.3, 0.9)),
        ((1, 1, 8, 8), (1, 1, 0.5, 0.25)),
        ((1, 1, 3, 5), (1, 1, 1.0, 2.4)),
        ((3, 4, 5, 1), (1, 1, 0.5, 1.0)),
    ],
)
def test_resize_of_opset_10(
    mode: str, shape: tuple[int, ...], scales: tuple[float, ...], tmp_path: Path
) -> None:
    arrays, constants = {"x": random(*shape)}, {"s": floats(*scales)}
    check("Resize", "x s", arrays, constants, tmp_path, {"mode": mode}, opset=10)


@pytest.mark.parametrize(("shape", "scales"), [((7,), (0.6,)), ((3, 5), (0.4, 1.7)),
                                               ((2, 5, 6), (0.5, 0.7, 1.5)),
                                               ((1, 2, 3, 4, 5), (1, 1, 0.7, 2, 0.5))])  # fmt: skip
def test_resize_of_opset_10_in_other_ranks(
    shape: tuple[int, ...], scales: tuple[float, ...], tmp_path: Path
) -> None:
    arrays, constants = {"x": random(*shape)}, {"s": floats(*scales)}
    check("Resize", "x s", arrays, constants, tmp_path, {"mode": "nearest"}, opset=10)


POOLS: list[tuple[tuple[int, ...], dict[str, object]]] = [
    ((1, 1, 8), {"kernel_shape": [2], "dilations": [2]}),
    ((2, 3, 9), {"kernel_shape": [3], "dilations": [2], "pads": [2, 1], "strides": [2]}),
    ((1, 2, 7, 8), {"kernel_shape": [2, 3], "dilations": [3, 2]}),
    ((1, 2, 7, 8), {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 1, 2, 1]}),
    ((1, 2, 7, 8), {"kernel_shape": [3, 2], "dilations": [1, 3], "strides": [2, 2],
                    "ceil_mode": 1, "pads": [1, 1, 1, 1]}),
    ((1, 2, 8, 9), {"kernel_shape": [3, 3], "dilations": [2, 2], "strides": [2, 1],
                    "pads": [1, 2, 2, 2]}),
    ((1, 2, 5, 6, 7), {"kernel_shape": [2, 2, 3], "dilations": [2, 1, 2]}),
    ((1, 2, 5, 6, 7), {"kernel_shape": [1, 2, 2], "dilations": [3, 2, 5],
                       "pads": [0, 1, 1, 0, 0, 1]}),
]  # fmt: skip


@pytest.mark.parametrize("count_pad", [0, 1])
@pytest.mark.parametrize(
    ("shape", "attributes"),
    POOLS,
    ids=str,
)
def test_dilated_average_pool(
    shape: tuple[int, ...], attributes: dict[str, object], count_pad: int, tmp_path: Path
) -> None:
    given = dict(attributes, count_include_pad=count_pad)
    check("AveragePool", "x", {"x": random(*shape)}, {}, tmp_path, given, opset=19)


REGIONS = {"r": floats(0, 0, 3, 3).reshape(1, 4), "b": np.array([0])}
SIZE = {"output_height": 2, "output_width": 2}
REFUSED: list[tuple[str, str, tuple[int, ...], Arrays, dict[str, object], str]] = [
    ("RoiAlign", "x r b", (1, 1, 4, 4), REGIONS, dict(SIZE, mode="max", sampling_ratio=2),
     "its mode 'max' is not supported; mode 'avg' is"),
    ("MaxRoiPool", "x r", (1, 1, 4, 4), {"r": floats(0, 0, 0, 3, 3).reshape(1, 5)},
     {"pooled_shape": [2, 2]}, "its regions depends on the data; use RoiAlign"),
    ("GridSample", "x g", (1, 1, 2, 3, 4), {"g": random(1, 2, 2, 2, 3)}, {"mode": "linear"},
     "is not a batch of images of rank 4"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "names", "shape", "constants", "attributes", "message"),
    REFUSED,
    ids=[r[0] + str(len(r[5])) for r in REFUSED],
)
def test_refused(
    op: str,
    names: str,
    shape: tuple[int, ...],
    constants: Arrays,
    attributes: dict[str, object],
    message: str,
    tmp_path: Path,
) -> None:
    arrays = {"x": random(*shape)}
    model = model_of(op, names, arrays, constants, attributes)
    with pytest.raises(ImportFailure, match=message):
        run_imported(model, arrays, tmp_path)


@pytest.mark.parametrize("opset", [10, 16])
@pytest.mark.parametrize("ratio", [0, 1, 3])
def test_roi_align(ratio: int, opset: int, tmp_path: Path) -> None:
    regions = random(6, 4, seed=ratio) * 8 + floats(0, 0, 4, 4)
    constants = {"r": regions, "b": np.array([0, 1, 1, 0, 1, 0])}
    attributes = {"output_height": 3, "output_width": 2, "sampling_ratio": ratio,
                  "spatial_scale": 0.5}  # fmt: skip
    check("RoiAlign", "x r b", {"x": random(2, 3, 9, 7)}, constants, tmp_path, attributes,
          opset=opset)  # fmt: skip


GRIDS = [(1, 1, 2, 3), (2, 3, 2, 3), (2, 1, 1, 3), (1, 1, 1, 1), (1, 2, 2, 3, 4), (3, 1, 1, 3, 1)]


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("size", GRIDS, ids=str)
def test_affine_grid(size: tuple[int, ...], aligned: bool, tmp_path: Path) -> None:
    dims = len(size) - 2
    arrays, constants = {"t": random(size[0], dims, dims + 1)}, {"s": np.array(size)}
    attributes = {"align_corners": int(aligned)}
    model = model_of("AffineGrid", "t s", arrays, constants, attributes, opset=20)
    expected = torch.nn.functional.affine_grid(torch.from_numpy(arrays["t"]), size, aligned)
    found = run_imported(model, arrays, tmp_path)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("aligned", [False, True])
def test_affine_grid_of_dynamic_sizes(aligned: bool, tmp_path: Path) -> None:
    shape = helper.make_node("Shape", ["x"], ["s"])
    grid = helper.make_node("AffineGrid", ["t", "s"], ["y"], align_corners=int(aligned))
    shapes = {"x": ["n", 1, "h", "w"], "t": ["n", 2, 3]}
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([shape, grid], "grid", inputs, outputs)
    opsets = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "m.onnx")
    dims = [f"--dim={name}=1..{most}" for name, most in (("n", 3), ("h", 5), ("w", 6))]
    assert main(["import", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.slg"), *dims]) == 0
    run = spirloom.load(tmp_path / "m.slg")
    for n, h, w in ((1, 1, 1), (3, 5, 6), (2, 1, 3), (1, 4, 2)):
        theta = torch.from_numpy(random(n, 2, 3))
        expected = torch.nn.functional.affine_grid(theta, (n, 1, h, w), aligned)
        np.testing.assert_allclose(run(random(n, 1, h, w), theta)[0], expected, 1e-5, 1e-5)
