"""Modules statically quantized with PT2E: delegates compute in int8."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from spirloom import graph_file
from spirloom.ir import Tensor
from spirloom.op_library import OpLibrary
from spirloom.pte.file import ProgramFile
from spirloom.pte.importer import import_method
from spirloom.torch.options import Options
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from tests.executorch.programs import Inputs, Lowered, load, run

LIBRARY = OpLibrary()
QUANTIZED_OPS = torch.ops.quantized_decomposed


class Residual(nn.Module):  # type: ignore[misc]
    """Every kind of convolution, with channel counts and image sizes that ExecuTorch pads."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, (3, 5), padding=(1, 2), groups=8)
        self.wide = nn.Conv2d(8, 10, 1, bias=False)
        self.grouped = nn.Conv2d(10, 8, (2, 3), dilation=(1, 2), groups=2)
        self.up = nn.ConvTranspose2d(8, 6, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.stem(x))
        x = self.wide(torch.relu(self.depthwise(x) + x))
        return self.up(self.grouped(x))


class Layers(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(12, 20)
        self.second = nn.Linear(20, 5, bias=False)

    def forward(self, x: Any) -> Any:
        return self.second(torch.relu(self.first(x)))


def quantized(module: Any, inputs: Inputs) -> Any:
    """The module quantized with PT2E, calibrated on the inputs."""
    config = get_symmetric_quantization_config(is_per_channel=True)
    quantizer = XNNPACKQuantizer().set_global(config)
    prepared = prepare_pt2e(torch.export.export(module.eval(), inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


class ByHand(nn.Module):  # type: ignore[misc]
    """Patterns that ExecuTorch's quantizers do not emit: a single relu, data movement in int8."""

    def forward(self, a: Any, b: Any) -> Any:
        y = _requantized(_requantized(a, 0.03, -20) + _requantized(b, 0.05, 7), 0.11, 3)
        y = _requantized(torch.relu(y), 0.07, -128)
        return _requantized(nn.functional.pixel_shuffle(y, 2), 0.06, -100)


def _requantized(x: Any, scale: float, zero: int) -> Any:
    codes = QUANTIZED_OPS.quantize_per_tensor(x, scale, zero, -128, 127, torch.int8)
    return QUANTIZED_OPS.dequantize_per_tensor(codes, scale, zero, -128, 127, torch.int8)


# Module, input shapes, operators of its delegate, operators of the imported graph.
CASES: dict[str, tuple[type[nn.Module], list[tuple[int, ...]], set[str], dict[str, int]]] = {
    "convolutions": (
        Residual,
        [(1, 3, 15, 18)],
        {"q8ta_conv2d", "q8ta_conv2d_dw", "q8ta_conv2d_pw", "q8ta_conv2d_transposed", "q8ta_add"},
        {"convolution_i8": 5, "add_i8": 1},
    ),
    "rows": (Layers, [(3, 12)], {"q8ta_linear"}, {"linear_i8": 2}),
    "one row": (Layers, [(1, 12)], {"q8ta_linear_gemv"}, {"linear_i8": 2}),
    "by hand": (
        ByHand,
        [(1, 8, 3, 5), (1, 8, 3, 5)],
        {"q8ta_add", "q8ta_relu", "q8ta_pixel_shuffle"},
        {"add_i8": 1, "rescale_i8": 2, "aten.pixel_shuffle": 1},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_delegates_compute_in_int8(name: str, tmp_path: Path) -> None:
    kind, shapes, names, expected = CASES[name]
    torch.manual_seed(0)
    module, inputs = kind().eval(), tuple(torch.randn(shape) for shape in shapes)
    made = module if kind is ByHand else quantized(module, inputs)
    program = Lowered(made, inputs)
    assert program.delegates == 1 and program.kernels == []
    assert {f"et_vk.{each}" for each in names} <= program.names
    with torch.no_grad():
        expected_output = made(*inputs)
    (given,) = run(load(program.buffer), inputs)
    (tmp_path / "net.pte").write_bytes(program.buffer)
    graph = import_method(ProgramFile(tmp_path / "net.pte"), LIBRARY, Options())
    counts = Counter(node.op.removeprefix("spirloom.") for node in graph.nodes)
    assert expected.items() <= counts.items()
    assert not {"aten.convolution", "aten.linear", "aten.add.Tensor"} & {*counts}
    (ours,) = spirloom.load(graph_file.to_bytes(graph))(*(x.numpy() for x in inputs))
    # A value half-way between two codes may round to either: a rare difference of one step.
    scale = LIBRARY.arg(graph.nodes[-1], "scale")
    assert isinstance(scale, Tensor) and scale.data is not None
    step = float(scale.data.max())
    for y in (given.numpy(), np.asarray(ours)):
        gap = np.abs(y - expected_output.numpy())
        assert gap.max() <= 1.01 * step and (gap > 0.01 * step).mean() < 0.02
