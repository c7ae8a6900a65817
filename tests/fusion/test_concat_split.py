"""Concatenations and slices without copies, on the device, with PyTorch as the oracle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize
from torch import Tensor, nn

from tests.fusion.device import Device, distance
from tests.onnx_export import export_traced


class DenseBlock(nn.Module):  # type: ignore[misc]
    """Each layer reads all previous results, as in DenseNet."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(8 + 4 * i, 4, 3, padding=1) for i in range(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The features of the block, and those of its first layer."""
        features = [torch.relu(x)]
        for layer in self.layers:
            features.append(torch.relu(layer(torch.cat(features, 1))))
        return torch.cat(features, 1), features[1]


class Shuffle(nn.Module):  # type: ignore[misc]
    """Two branches that are joined again, as in ShuffleNet."""

    def __init__(self) -> None:
        super().__init__()
        self.branch = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """Interleaves the channels of both branches."""
        left, right = x[:, :4], x[:, 4:]
        joined = torch.cat([left, self.branch(right), right * 2, left + 1], 1)
        n, c, h, w = joined.shape
        return joined.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


class Nested(nn.Module):  # type: ignore[misc]
    """Nested concatenations, reused parts, parts of odd sizes, and slices of concatenations."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Three tensors with the same parts."""
        a, b = torch.relu(x), torch.sigmoid(x)
        inner = torch.cat([a, b], 1)
        odd = torch.tanh(x[:, :3, :5, :1])
        joined = torch.cat([inner, a, torch.neg(inner)], 1)
        return joined[:, 8:24] * 2, torch.cat([odd, odd], 1), joined[:, 4:, ::2]


@pytest.mark.parametrize("module", [DenseBlock, Shuffle, Nested])
@pytest.mark.parametrize("shape", [(1, 8, 8, 8), (2, 8, 8, 8), (1, 8, 7, 5)])
def test_like_pytorch(
    module: type[nn.Module],
    shape: tuple[int, ...],
    library: OpLibrary,
    spirloom_run: Path,
    tmp_path: Path,
) -> None:
    torch.manual_seed(5)
    net, x = module().eval(), torch.randn(shape)
    with torch.no_grad():
        expected = net(x)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    names = [f"y{i}" for i in range(len(wanted))]
    path = tmp_path / "net.onnx"
    export_traced(net, (x,), path, opset_version=13, input_names=["x"], output_names=names)
    graph = import_model(path, library, Shapes())
    optimize(graph, library)
    device = Device(spirloom_run, tmp_path)
    for storage in ("buffer", "texture3d"):
        results = device.run(graph, {"x": x.numpy()}, storage)
        for result, right in zip(results, wanted, strict=True):
            assert distance(np.asarray(result), right.numpy()) < 2e-6
