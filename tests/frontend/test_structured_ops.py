"""ONNX operators over windows, indices and order, compared with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from onnx import NodeProto, TensorProto, helper
from spirloom.ir import Array
from spirloom.op_library import OpLibrary

from tests.frontend import reference_run
from tests.frontend.models import compute, imported, model, node, ops, random

functional = torch.nn.functional

# Name → node, shape of x, constants, operators of the graph, and the PyTorch equivalent.
Case = tuple[NodeProto, tuple[int, ...], Mapping[str, Array], list[str], Callable[..., Any]]
W = {"w": random(3, 2, 3, 3, seed=1)}
GRID = {"g": random(2, 4, 5, 2, seed=2) * np.float32(0.7)}
PLACES = np.array([[0, -1, 2], [1, 1, 0]])
UPDATES = random(2, 3, seed=3)


def mean_of_cubes(x: torch.Tensor) -> torch.Tensor:
    """Means of 3 x 3 x 3 elements, including the zero padding."""
    return functional.avg_pool3d(functional.pad(x, (0, 0, 0, 1, 1, 1)), 3, 1)


CASES: dict[str, Case] = {
    "conv3d": (
        node("Conv", "x w", strides=[2, 1, 1], pads=[1, 0, 1, 1, 0, 1]),
        (1, 2, 5, 4, 4),
        {"w": random(3, 2, 3, 2, 3, seed=1)},
        ["aten.conv3d"],
        lambda x, w: functional.conv3d(x, w, stride=(2, 1, 1), padding=(1, 0, 1)),
    ),
    "conv_transpose_uneven": (
        node("ConvTranspose", "x w", strides=[2, 2], pads=[0, 1, 1, 0]),
        (1, 3, 4, 5),
        W,
        ["aten.conv_transpose2d.input", "aten.slice.Tensor", "aten.slice.Tensor"],
        lambda x, w: functional.conv_transpose2d(x, w, stride=2)[:, :, :-1, 1:],
    ),
    "conv_transpose_output_shape": (
        node("ConvTranspose", "x w", strides=[2, 2], output_shape=[10, 12]),
        (1, 3, 4, 5),
        W,
        ["aten.conv_transpose2d.input"],
        lambda x, w: functional.conv_transpose2d(x, w, stride=2, output_padding=1),
    ),
    "conv_transpose_line": (
        node("ConvTranspose", "x w", strides=[3]),
        (2, 3, 4),
        {"w": random(3, 2, 2, seed=1)},
        ["aten.view", "aten.conv_transpose2d.input", "aten.view"],
        lambda x, w: functional.conv_transpose1d(x, w, stride=3),
    ),
    "conv_transpose_volume": (
        node("ConvTranspose", "x w", output_padding=[1, 0, 0], strides=[2, 1, 1]),
        (1, 2, 3, 2, 4),
        {"w": random(2, 3, 2, 2, 2, seed=1)},
        ["aten.conv_transpose3d.input"],
        lambda x, w: functional.conv_transpose3d(x, w, stride=(2, 1, 1), output_padding=(1, 0, 0)),
    ),
    "max_pool_volume": (
        node("MaxPool", "x", kernel_shape=[2, 2, 3], strides=[1, 2, 1]),
        (1, 2, 4, 4, 5),
        {},
        ["aten.max_pool3d"],
        lambda x: functional.max_pool3d(x, (2, 2, 3), (1, 2, 1)),
    ),
    "average_pool_volume": (
        node("AveragePool", "x", kernel_shape=[3, 3, 3], pads=[1, 0, 0, 1, 1, 0]),
        (1, 2, 4, 4, 5),
        {},
        ["aten.constant_pad_nd", "aten.avg_pool3d", "aten.div.Tensor"],
        lambda x: mean_of_cubes(x) / mean_of_cubes(torch.ones_like(x)),
    ),
    "lp_pool": (
        node("LpPool", "x", kernel_shape=[2, 3], strides=[2, 1], p=3),
        (1, 2, 4, 5),
        {},
        ["spirloom.lp_pool"],
        lambda x: functional.lp_pool2d(x.abs(), 3, (2, 3), (2, 1)),
    ),
    "global_lp_pool": (
        node("GlobalLpPool", "x"),
        (1, 2, 4, 5),
        {},
        ["aten.linalg_vector_norm"],
        lambda x: torch.linalg.vector_norm(x, dim=(2, 3), keepdim=True),
    ),
    "instance_norm": (
        node("InstanceNormalization", "x s b"),
        (2, 3, 4, 5),
        {"s": random(3, seed=1), "b": random(3, seed=2)},
        ["aten.native_group_norm"],
        lambda x, s, b: functional.instance_norm(x, weight=s, bias=b),
    ),
    "resize_cubic": (
        node("Resize", "x - - n", mode="cubic"),
        (1, 2, 4, 5),
        {"n": np.array([1, 2, 7, 3])},
        ["aten.upsample_bicubic2d"],
        lambda x, n: functional.interpolate(x, size=(7, 3), mode="bicubic"),
    ),
    "resize_nearest_exact": (
        node("Resize", "x - - n", mode="nearest", nearest_mode="round_prefer_ceil"),
        (1, 2, 4, 5),
        {"n": np.array([1, 2, 7, 3])},
        ["aten._upsample_nearest_exact2d"],
        lambda x, n: functional.interpolate(x, size=(7, 3), mode="nearest-exact"),
    ),
    "pad_reflect": (
        node("Pad", "x p", mode="reflect"),
        (1, 2, 4, 5),
        {"p": np.array([0, 0, 1, 2, 0, 0, 3, 4])},
        ["aten.pad"],
        lambda x, p: functional.pad(x, (2, 4, 1, 3), mode="reflect"),
    ),
    "pad_edge": (
        node("Pad", "x p", mode="edge"),
        (1, 2, 4, 5),
        {"p": np.array([0, 0, 6, 2, 0, 0, 3, 7])},
        ["aten.pad"],
        lambda x, p: functional.pad(x, (2, 7, 6, 3), mode="replicate"),
    ),
    "grid_sample": (
        node("GridSample", "x g", mode="bicubic", padding_mode="reflection", align_corners=1),
        (2, 3, 6, 5),
        GRID,
        ["aten.grid_sampler_2d"],
        lambda x, g: functional.grid_sample(x, g, "bicubic", "reflection", True),
    ),
    "col2im": (
        node("Col2Im", "x n k", strides=[2, 1], pads=[1, 0, 1, 0]),
        (1, 12, 15),
        {"n": np.array([5, 6]), "k": np.array([3, 2])},
        ["aten.col2im"],
        lambda x, n, k: functional.fold(x, (5, 6), (3, 2), padding=(1, 0), stride=(2, 1)),
    ),
    "gather_elements": (
        node("GatherElements", "x i", axis=1),
        (2, 3),
        {"i": PLACES},
        ["aten.gather"],
        lambda x, i: torch.gather(x, 1, i % 3),
    ),
    "gather_nd": (
        node("GatherND", "x i"),
        (3, 4, 2),
        {"i": np.array([[[0, -1]], [[2, 1]]])},
        ["spirloom.gather_nd"],
        lambda x, i: x[i[..., 0], i[..., 1]],
    ),
    "scatter_elements": (
        node("ScatterElements", "x i u", axis=1),
        (2, 3),
        {"i": np.array([[0, -1, 1], [1, 2, 0]]), "u": UPDATES},
        ["aten.scatter.src"],
        lambda x, i, u: x.scatter(1, i % 3, u),
    ),
    "scatter_elements_add": (
        node("ScatterElements", "x i u", axis=1, reduction="add"),
        (2, 3),
        {"i": PLACES, "u": UPDATES},
        ["aten.scatter_reduce.two"],
        lambda x, i, u: x.scatter_add(1, i % 3, u),
    ),
    "scatter_nd": (
        node("ScatterND", "x i u"),
        (3, 4, 2),
        {"i": np.array([[0, -1], [2, 1]]), "u": random(2, 2, seed=3)},
        ["spirloom.scatter_nd"],
        lambda x, i, u: x.index_put((i[:, 0], i[:, 1]), u),
    ),
    "top_k": (
        node("TopK", "x k", "y i", axis=1),
        (3, 7, 2),
        {"k": np.array([4])},
        ["aten.topk"],
        lambda x, k: torch.topk(x, 4, 1)[0],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_operators(library: OpLibrary, tmp_path: Path, name: str) -> None:
    made_of, shape, constants, wanted, in_torch = CASES[name]
    x = random(*shape)
    made = model([made_of], {"x": shape}, constants, opset=18 if name == "col2im" else 16)
    graph = imported(made, library, tmp_path)
    expected = in_torch(torch.from_numpy(x), *map(torch.from_numpy, constants.values()))
    np.testing.assert_allclose(compute(graph, x), expected.numpy(), rtol=1e-4, atol=1e-5)
    assert set(wanted) <= set(ops(graph)) and wanted[0] in ops(graph)


@pytest.mark.parametrize("opset", [18, 21])
def test_group_norm_scales_groups_then_channels(
    library: OpLibrary, tmp_path: Path, opset: int
) -> None:
    x, count = random(2, 6, 3, 4), 2 if opset == 18 else 6
    constants = {"s": random(count, seed=1), "b": random(count, seed=2)}
    nodes = [node("GroupNormalization", "x s b", num_groups=2)]
    graph = imported(model(nodes, {"x": x.shape}, constants, opset=opset), library, tmp_path)
    s, b = (torch.from_numpy(v).repeat_interleave(6 // count) for v in constants.values())
    expected = functional.group_norm(torch.from_numpy(x), 2, s, b)
    np.testing.assert_allclose(compute(graph, x), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_max_pool_indices_are_flat(library: OpLibrary, tmp_path: Path) -> None:
    x = random(2, 3, 6, 5)
    nodes = [node("MaxPool", "x", "y i", kernel_shape=[2, 2], strides=[2, 1])]
    made = model(nodes, {"x": x.shape}, outputs=("y", "i"), opset=12)
    made.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    values = reference_run.run(imported(made, library, tmp_path), {"x": x})
    np.testing.assert_array_equal(x.reshape(-1)[values["i"]], values["y"])
    expected = functional.max_pool2d(torch.from_numpy(x), 2, (2, 1))
    np.testing.assert_array_equal(values["y"], expected.numpy())


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot_counts_negative_indices_from_the_end(
    library: OpLibrary, tmp_path: Path, axis: int
) -> None:
    constants = {"d": np.array(4), "v": np.array([-1, 5], dtype=np.float32)}
    made = model([node("OneHot", "x d v", axis=axis)], {"x": (2, 3)}, constants)
    made.graph.input[0].type.tensor_type.elem_type = TensorProto.INT32
    x = np.array([[0, 3, -1], [2, -4, 1]], dtype=np.int32)
    hot = np.where(np.arange(4) == (x % 4)[..., None], np.float32(5), np.float32(-1))
    y = compute(imported(made, library, tmp_path), x)
    np.testing.assert_array_equal(y, np.moveaxis(hot, -1, axis))


def test_computed_scatter_nd_wraps_negative_indices(library: OpLibrary, tmp_path: Path) -> None:
    nodes = [helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT32)]
    nodes += [node("ScatterND", "data i u")]
    constants = {"data": random(3, 4), "u": random(2, seed=1)}
    coordinates = np.array([[-1, 2], [0, -3]], dtype=np.float32)
    y = compute(imported(model(nodes, {"x": (2, 2)}, constants), library, tmp_path), coordinates)
    expected = constants["data"].copy()
    expected[[-1, 0], [2, -3]] = constants["u"]
    np.testing.assert_array_equal(y, expected)


def test_layer_norm_returns_its_statistics(library: OpLibrary, tmp_path: Path) -> None:
    x = random(2, 3, 4)
    nodes = [node("LayerNormalization", "x w", "y m d", axis=1, epsilon=0.5)]
    made = model(nodes, {"x": x.shape}, {"w": random(3, 4, seed=1)}, ("y", "m", "d"), opset=17)
    values = reference_run.run(imported(made, library, tmp_path), {"x": x})
    deviation = 1 / np.sqrt(x.var(axis=(1, 2), keepdims=True) + 0.5)
    np.testing.assert_allclose(values["m"], x.mean(axis=(1, 2), keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(values["d"], deviation, rtol=1e-5)
