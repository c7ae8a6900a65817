"""The quantization flows that ExecuTorch documents for its Vulkan backend, with its layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from executorch.backends.vulkan.quantizer.vulkan_quantizer import (
    VulkanQuantizer,
    get_symmetric_quantization_config,
)
from torchao.quantization.granularity import PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.quant_api import (
    Int8DynamicActivationIntxWeightConfig,
    IntxWeightOnlyConfig,
    quantize_,
)
from torchao.utils import unwrap_tensor_subclass

from tests.executorch.programs import Lowered, check, load

GROUPS = PerGroup(32)
TORCHAO = {
    "8da4w": Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=GROUPS
    ),
    "4w": IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=GROUPS),
}
# The name in the program, the quantizer's options, the tolerance: of int8 activations, as values
# half-way between two codes may round to either.
PT2E: dict[str, tuple[str, dict[str, Any], float]] = {
    "8w": ("aten._weight_int8pack_mm", {"is_dynamic": False, "weight_bits": 8}, 1e-5),
    "4w": ("et_vk.linear_qcs4w", {"is_dynamic": False, "weight_bits": 4}, 1e-5),
    "8da8w": ("", {"is_dynamic": True, "weight_bits": 8}, 2e-2),
}


class LinearSequence(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, bias: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear1 = torch.nn.Linear(128, 64, bias=bias)
        self.linear2 = torch.nn.Linear(64, 32, bias=bias)
        self.linear3 = torch.nn.Linear(32, 16, bias=bias)

    def forward(self, x: Any) -> Any:
        return self.linear3(self.linear2(self.linear1(x)))


@pytest.mark.parametrize("fp16", [False, True])
@pytest.mark.parametrize("mode", TORCHAO)
def test_torchao(mode: str, fp16: bool) -> None:
    module = LinearSequence().eval()
    quantize_(module, TORCHAO[mode])
    unwrap_tensor_subclass(module)
    inputs = (torch.randn(32, 128),)
    program = Lowered(module, inputs, force_fp16=fp16)
    assert program.delegates == 1 and not program.kernels
    tolerance = 2e-2 if mode == "8da4w" else 2e-3 if fp16 else 1e-5
    check(module, load(program.buffer), inputs, tolerance)


@pytest.mark.parametrize("fp16", [False, True])
@pytest.mark.parametrize("mode", PT2E)
def test_pt2e(mode: str, fp16: bool) -> None:
    """Several rows; in fp16, one row with a bias."""
    name, options, tolerance = PT2E[mode]
    inputs = (torch.randn(1 if fp16 else 32, 128, generator=torch.Generator().manual_seed(1)),)
    quantizer = VulkanQuantizer()
    quantizer.set_global(get_symmetric_quantization_config(**options))
    exported = torch.export.export(LinearSequence(bias=fp16).eval(), inputs).module()
    prepared = prepare_pt2e(exported, quantizer)
    prepared(*inputs)
    module = convert_pt2e(prepared)
    program = Lowered(module, inputs, force_fp16=fp16)
    assert not name or name in program.names
    check(module, load(program.buffer), inputs, max(tolerance, 5e-3) if fp16 else tolerance)
