"""1-D convolutions as 2-D ones, with the operators that follow, on the device and in PyTorch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from spirloom.builder import Builder
from spirloom.ir import DType, Graph, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize
from torch.nn.functional import conv1d

from tests.fusion.device import Device, distance

TOLERANCE = {"f32": 2e-6, "f16": 1.5e-3}
BATCH_NORM = "aten._native_batch_norm_legit_no_training"
SHAPES = {
    "first": (8, 6, 3), "bias": (8,), "second": (36, 8, 5), "grouped": (36, 1, 3),
    "last": (5, 36, 1), "mean": (8,), "variance": (8,),
}  # fmt: skip


def weights() -> dict[str, torch.Tensor]:
    torch.manual_seed(5)
    found = {name: torch.rand(shape) - 0.3 for name, shape in SHAPES.items()}
    return {**found, "variance": torch.rand(8) + 0.5}


def network(library: OpLibrary) -> Graph:
    """Strided, dilated and grouped convolutions; one result has two readers, and one view
    splits the length."""
    w = {name: constant(name, value.numpy()) for name, value in weights().items()}
    graph = Graph([Tensor("x", DType.F32, (2, 6, 31))], [])
    emit = Builder(library, graph).emit
    (x,) = graph.inputs
    y = emit("aten.conv1d", x=x, weight=w["first"], bias=w["bias"], stride=(2,), padding=(1,))
    y = emit("aten.view", x=y, size=(2, 8, 16, 1))
    y = emit(BATCH_NORM, x=y, weight=None, bias=None, running_mean=w["mean"],
             running_var=w["variance"])  # fmt: skip
    y = emit("aten.view", x=y, size=(2, 8, 16))
    y = emit("aten.relu", x=y)
    z = emit("aten.conv1d", x=y, weight=w["second"], padding=(4,), dilation=(2,))
    z = emit("aten.conv1d", x=z, weight=w["grouped"], padding=(1,), groups=36)
    z = emit("aten.tanh", x=emit("aten.conv1d", x=z, weight=w["last"]))
    graph.outputs = [emit("aten.sigmoid", x=y), emit("aten.view", x=z, size=(2, 5, 4, 4))]
    for tensor, name in zip(graph.outputs, ("a", "b"), strict=True):
        tensor.name = name
    return graph


def expected(x: torch.Tensor) -> list[torch.Tensor]:
    w = weights()
    y = conv1d(x, w["first"], w["bias"], 2, 1)
    y = torch.relu(torch.batch_norm(y, None, None, w["mean"], w["variance"], False, 0, 1e-5, False))
    z = conv1d(y, w["second"], None, 1, 4, 2)
    z = conv1d(z, w["grouped"], None, 1, 1, 1, 36)
    return [torch.sigmoid(y), torch.tanh(conv1d(z, w["last"])).view(2, 5, 4, 4)]


@pytest.mark.parametrize("storage", ["buffer", "texture3d"])
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_equals_pytorch(
    library: OpLibrary, spirloom_run: Path, tmp_path: Path, dtype: str, storage: str
) -> None:
    graph = network(library)
    optimize(graph, library, fp16=dtype == "f16")
    ops = [node.op for node in graph.nodes]
    assert ops.count("aten.conv1d") == 1  # the grouped one
    assert ops.count("aten.convolution") == 3
    assert BATCH_NORM not in ops and "aten.relu" not in ops
    x = torch.randn(2, 6, 31)
    found = Device(spirloom_run, tmp_path).run(graph, {"x": x.numpy()}, storage)
    for a, b in zip(found, expected(x), strict=True):
        assert distance(a.astype(np.float32), b.numpy()) < TOLERANCE[dtype]


def test_can_be_skipped(library: OpLibrary) -> None:
    graph = network(library)
    optimize(graph, library, skip={"convolve-2d"})
    assert [node.op for node in graph.nodes].count("aten.conv1d") == 4
