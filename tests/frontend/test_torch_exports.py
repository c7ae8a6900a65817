"""PyTorch exports at several opsets: few nodes, and PyTorch's results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from spirloom.ir import Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize
from torch import nn
from torch.nn import functional

from tests.frontend import reference_run
from tests.onnx_export import export_traced


class Calls(nn.Module):  # type: ignore[misc]
    """A function as a module."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def shuffle(x: Any) -> Any:
    """ShuffleNet's channel shuffle, with sizes taken from the tensor."""
    n, c, h, w = x.size()
    return x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, -1, h, w)


def attention(x: Any) -> Any:
    """Self-attention over the rows of [N, L, C]."""
    y = x.flatten(2).transpose(1, 2)
    return torch.softmax(y @ y.transpose(-2, -1) * 0.5, dim=-1) @ y


MODULES = {
    "batch_norm": (
        nn.Sequential(nn.Conv2d(4, 6, 3, 2, 1, bias=False), nn.BatchNorm2d(6), nn.ReLU6()),
        ["aten.convolution"],
    ),
    "depthwise": (nn.Conv2d(4, 4, (3, 2), 1, (1, 0), (2, 1), groups=4), ["aten.convolution"]),
    "transposed": (
        nn.ConvTranspose2d(4, 6, 3, (2, 3), 1, (1, 2), groups=2),
        None,
    ),
    "silu": (nn.SiLU(), ["aten.silu"]),
    "hardswish": (nn.Hardswish(), ["aten.hardswish"]),
    "hardsigmoid": (nn.Hardsigmoid(), ["aten.hardsigmoid"]),
    "gelu": (nn.GELU(), ["aten.gelu"]),
    "layer_norm": (nn.LayerNorm((6, 8)), ["aten.native_layer_norm"]),
    "group_norm": (nn.GroupNorm(2, 4), None),
    "log_softmax": (nn.LogSoftmax(1), None),
    "max_pool": (nn.MaxPool2d(3, 2, 1, ceil_mode=True), ["aten.max_pool2d"]),
    "avg_pool": (nn.AvgPool2d(3, 2, 1, ceil_mode=False), ["aten.avg_pool2d"]),
    "avg_pool_uncounted": (
        nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        ["aten.avg_pool2d"],
    ),
    "adaptive": (nn.AdaptiveAvgPool2d((2, 4)), ["aten.avg_pool2d"]),
    "upsample": (nn.Upsample(scale_factor=2), ["aten.upsample_nearest2d"]),
    "bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), ["aten.upsample_bilinear2d"]),
    "corners": (
        nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
        ["aten.upsample_bilinear2d"],
    ),
    "bicubic": (nn.Upsample(size=(9, 5), mode="bicubic"), None),
    "reflect": (nn.ReflectionPad2d((1, 2, 3, 0)), None),
    "pixel_shuffle": (nn.PixelShuffle(2), ["aten.pixel_shuffle"]),
    "shuffle": (Calls(shuffle), ["aten.view", "aten.permute", "aten.view"]),
    "attention": (Calls(attention), None),
    "norm": (Calls(lambda x: functional.normalize(x, dim=1)), None),
    "roll": (Calls(lambda x: torch.roll(x, (1, 2), (2, 3))), None),
    "chunks": (Calls(lambda x: torch.cat(torch.chunk(x, 2, 1)[::-1], 1)), None),
    "einsum_free_mean": (Calls(lambda x: x.mean((2, 3)) - x.amax((2, 3))), None),
    "mask": (Calls(lambda x: torch.where(x > 0, x, x.exp() - 1)), None),
    "linear": (
        nn.Sequential(nn.Flatten(), nn.Linear(192, 5), nn.Tanh()),
        ["aten.view", "aten.linear"],
    ),
    "prelu": (nn.PReLU(4, 0.3), None),
    "view_of_size": (Calls(lambda x: x.view(x.size(0), -1)), ["aten.view"]),
}  # fmt: skip


def imported(module: Any, x: Any, opset: int, folder: Path, library: OpLibrary) -> Graph:
    path = folder / "m.onnx"
    export_traced(
        module,
        (x,),
        path,
        opset_version=opset,
        input_names=["x"],
        dynamic_axes={"x": {0: "batch"}},
        do_constant_folding=False,
    )
    graph = import_model(path, library, Shapes(dims={"batch": x.shape[0]}))
    optimize(graph, library)
    return graph


@pytest.mark.parametrize("opset", [11, 13, 16])
@pytest.mark.parametrize("name", MODULES)
def test_export(name: str, opset: int, library: OpLibrary, tmp_path: Path) -> None:
    torch.manual_seed(1)
    module, expected_ops = MODULES[name]
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
    x = torch.randn(2, 4, 6, 8)
    graph = imported(module.eval(), x, opset, tmp_path, library)
    if expected_ops is not None:
        assert [node.op for node in graph.nodes] == expected_ops
    with torch.no_grad():
        expected = module(x).numpy()
    y = next(iter(reference_run.run(graph, {"x": x.numpy()}).values()))
    np.testing.assert_allclose(y, expected, rtol=2e-4, atol=2e-5)
