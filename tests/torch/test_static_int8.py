"""Networks quantized statically by PT2E run in int8, compared with the quantized program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
from spirloom import graph_file
from spirloom.ir import Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.torch.build import build
from spirloom.torch.export import decompose, program_of
from spirloom.torch.options import Options
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.testing.pt2e._xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)

LIBRARY = OpLibrary()
_FLOATING = {"aten.convolution", "aten.linear", "aten.add.Tensor", "aten.relu", "aten.hardtanh"}


class Convolutions(nn.Module):  # type: ignore[misc]
    """A small convolutional network."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.second = nn.Conv2d(16, 24, 3, padding=2, dilation=2)
        self.head = nn.Linear(24 * 4 * 4, 10)

    def forward(self, x: Any) -> Any:
        x = nn.functional.max_pool2d(torch.relu(self.first(x)), 3, stride=2, padding=1)
        x = torch.relu(self.second(x))
        return self.head(torch.flatten(x, 1))


def _layer(
    channels: int, out: int, size: int, activation: nn.Module, **options: int
) -> nn.Sequential:
    conv = nn.Conv2d(channels, out, size, bias=False, **options)
    return nn.Sequential(conv, nn.BatchNorm2d(out), activation)


class InvertedResidual(nn.Module):  # type: ignore[misc]
    """A block of MobileNetV2 after a stem."""

    def __init__(self, activation: type[nn.Module]) -> None:
        super().__init__()
        self.stem = _layer(3, 16, 3, activation(), stride=2, padding=1)
        self.up = _layer(16, 64, 1, activation())
        self.depthwise = _layer(64, 64, 3, activation(), padding=1, groups=64)
        self.down = _layer(64, 16, 1, nn.Identity())

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        return x + self.down(self.depthwise(self.up(x)))


class Decoder(nn.Module):  # type: ignore[misc]
    """A transposed convolution, and global average pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(16, 12, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.head = nn.Linear(12, 10)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.up(torch.relu(self.first(x))))
        x = nn.functional.adaptive_avg_pool2d(x, 1)
        return self.head(torch.flatten(x, 1))


class Signal(nn.Module):  # type: ignore[misc]
    """One-dimensional convolutions of the rows of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(16, 24, 5, padding=2)
        self.second = nn.Conv1d(24, 24, 3, stride=2, groups=24)

    def forward(self, x: Any) -> Any:
        return self.second(torch.relu(self.first(x[:, 0])))


NETWORKS: dict[str, tuple[Callable[[], Any], dict[str, int]]] = {
    "convolutions": (
        Convolutions,
        {"convolution_i8": 2, "max_pool2d": 1, "linear_i8": 1, "flatten.using_ints": 1},
    ),
    "relu": (lambda: InvertedResidual(nn.ReLU), {"convolution_i8": 4, "add_i8": 1}),
    "relu6": (
        lambda: InvertedResidual(nn.ReLU6),
        {"convolution_i8": 4, "add_i8": 1, "rescale_i8": 3},
    ),
    "decoder": (
        Decoder,
        {"convolution_i8": 2, "average_pool_i8": 1, "linear_i8": 1, "flatten.using_ints": 1},
    ),
    "signal": (Signal, {"convolution_i8": 2, "select.int": 1}),
}


# torchao's quantizer, unlike ExecuTorch's, scales transposed weights by their input channels.
_ONE_SCALE = {"decoder"}


def quantized(module: Any, x: Any, per_channel: bool) -> Any:
    """PT2E's program, calibrated on x and random inputs."""
    config = get_symmetric_quantization_config(is_per_channel=per_channel)
    captured = torch.export.export(module, (x,)).module()
    prepared = prepare_pt2e(captured, XNNPACKQuantizer().set_global(config))
    prepared(x)
    for seed in range(4):
        prepared(torch.randn(x.shape, generator=torch.Generator().manual_seed(seed)))
    return convert_pt2e(prepared)


def graph_of(program: Any, x: Any) -> Graph:
    exported = decompose(torch.export.export(program, (x,)), LIBRARY)
    return build(program_of(exported), LIBRARY, Options())


def sqnr(y: Any, wanted: Any) -> float:
    noise = np.square(np.asarray(y, np.float64) - wanted).sum()
    return float(10 * np.log10(np.square(wanted).sum() / max(noise, 1e-300)))


@pytest.mark.parametrize("name", NETWORKS)
def test_layers_are_integer(name: str) -> None:
    torch.manual_seed(0)
    make, expected = NETWORKS[name]
    module = make().eval()
    x = torch.randn(1, 3, 16, 16)
    program = quantized(module, x, name not in _ONE_SCALE)
    graph = graph_of(program, x)
    counts = Counter(n.op.partition(".")[2] for n in graph.nodes)
    assert counts == {**expected, "quantize": 1, "dequantize": 1}
    assert not _FLOATING & {n.op for n in graph.nodes}
    with torch.no_grad():
        wanted, floats = program(x).double().numpy(), module(x).double().numpy()
    (y,) = spirloom.load(graph_file.to_bytes(graph))(x.numpy())
    # One step of the last scale, because ties of float sums may be rounded differently.
    step = LIBRARY.arg(graph.nodes[-1], "scale")
    assert isinstance(step, Tensor) and step.data is not None
    assert np.abs(np.asarray(y) - wanted).max() <= 1.01 * float(step.data.max())
    assert sqnr(y, wanted) > 45
    assert sqnr(y, floats) > 20
