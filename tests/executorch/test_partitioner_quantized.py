"""PT2E-quantized modules lowered with SpirloomPartitioner: one delegate, with integer layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import spirloom.executorch
import torch
from executorch.backends.vulkan.quantizer import vulkan_quantizer
from executorch.backends.xnnpack.quantizer import xnnpack_quantizer
from torch import nn
from torch.export import Dim
from torchao.quantization.pt2e.quantize_pt2e import (
    convert_pt2e,
    prepare_pt2e,
    prepare_qat_pt2e,
)

from tests.executorch.partitioned import PartitionedProgram, lowered
from tests.executorch.programs import Inputs, check, load, run
from tests.executorch.test_static_int8 import Residual


class Layers(nn.Module):  # type: ignore[misc]
    """Two layers that read one quantized value, and one after them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 48), nn.Linear(64, 48, bias=False)
        self.last = nn.Linear(48, 16)

    def forward(self, x: Any) -> Any:
        return self.last(torch.relu(self.first(x)) * torch.sigmoid(self.second(x)))


def xnnpack(**options: Any) -> Any:
    config = xnnpack_quantizer.get_symmetric_quantization_config(**options)
    return xnnpack_quantizer.XNNPACKQuantizer().set_global(config)


def vulkan(**options: Any) -> Any:
    config = vulkan_quantizer.get_symmetric_quantization_config(**options)
    return vulkan_quantizer.VulkanQuantizer().set_global(config)


def quantized(module: nn.Module, inputs: Inputs, quantizer: Any, shapes: Any = None) -> Any:
    """The module quantized with PT2E, calibrated on the inputs."""
    exported = torch.export.export(module.eval(), inputs, dynamic_shapes=shapes)
    prepared = prepare_pt2e(exported.module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


# The quantizer, and the operator of the layers in the delegate.
QUANTIZERS: dict[str, tuple[Callable[[], Any], str]] = {
    "xnnpack, dynamic": (lambda: xnnpack(is_per_channel=True, is_dynamic=True), "linear_a8w8"),
    "xnnpack, dynamic, per tensor": (
        lambda: xnnpack(is_per_channel=False, is_dynamic=True),
        "linear_a8w8",
    ),
    "xnnpack, static": (lambda: xnnpack(is_per_channel=True), "linear_i8"),
    "vulkan, weights of 8 bits": (vulkan, "linear_w8"),
    "vulkan, weights of 4 bits": (lambda: vulkan(weight_bits=4), "linear_w"),
    "vulkan, dynamic": (lambda: vulkan(is_dynamic=True), "linear_a8w8"),
    "vulkan, dynamic, weights of 4 bits": (
        lambda: vulkan(is_dynamic=True, weight_bits=4),
        "linear_a8w",
    ),
}


@pytest.mark.parametrize("name", QUANTIZERS)
def test_layers(name: str) -> None:
    torch.manual_seed(0)
    quantizer, operator = QUANTIZERS[name]
    inputs = (torch.randn(2, 3, 64),)
    module = quantized(Layers(), inputs, quantizer())
    program = PartitionedProgram(module, inputs)
    assert (program.delegates, program.kernels) == (1, [])
    assert program.payloads[0].count(f"spirloom.{operator}".encode()) >= 1
    # A value half-way between two codes may round to either.
    check(module, load(program.buffer), inputs, 1e-5 if "weights of" in name else 1e-2)


def test_dynamic_quantization_of_dynamic_shapes() -> None:
    torch.manual_seed(0)
    inputs, shapes = (torch.randn(5, 64),), ({0: Dim("batch", min=1, max=9)},)
    module = quantized(Layers(), inputs, xnnpack(is_per_channel=True, is_dynamic=True), shapes)
    program = PartitionedProgram(module, inputs, shapes)
    assert (program.delegates, program.kernels) == (1, [])
    method = load(program.buffer)
    for batch in (5, 9, 2, 1):
        check(module, method, (torch.randn(batch, 64),), 1e-2)


def test_dynamic_quantization_in_fp16() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(3, 64),)
    module = quantized(Layers(), inputs, xnnpack(is_per_channel=True, is_dynamic=True))
    check(module, load(PartitionedProgram(module, inputs, force_fp16=True).buffer), inputs, 3e-2)


def test_scales_of_float64_stay_with_their_readers() -> None:
    """A call with a float64 value runs where all calls with this value run."""
    torch.manual_seed(0)
    inputs = (torch.randn(3, 64),)
    module = quantized(Layers(), inputs, xnnpack(is_per_channel=True, is_dynamic=True))
    exported = torch.export.export(module, inputs)
    edge = lowered(
        exported, operator_blocklist=["quantized_decomposed.dequantize_per_tensor.tensor"]
    )
    called = [str(node.target) for node in edge.exported_program().graph.nodes]
    assert sum("choose_qparams" in name for name in called) == 2
    assert sum("quantize_per_tensor.tensor" in name for name in called) == 4


def test_static_quantization_by_samples() -> None:
    """Quantized on several samples, a module is close to the original on each."""
    torch.manual_seed(0)
    module, samples = Residual().eval(), [(torch.randn(1, 3, 15, 18),) for _ in range(4)]
    program = lowered(spirloom.executorch.quantize(module, samples)).to_executorch()
    (delegate,) = program.executorch_program.execution_plan[0].delegates
    assert delegate.id == "SpirloomBackend"
    method = load(bytes(program.buffer))
    for sample in samples:
        (y,) = run(method, sample)
        expected = module(*sample).detach()
        assert (y - expected).abs().max() < 0.05 * expected.abs().max()
    with pytest.raises(ValueError, match="`samples` is empty"):
        spirloom.executorch.quantize(module, [])


def test_quantization_aware_training() -> None:
    torch.manual_seed(0)
    inputs = (torch.randn(3, 64),)
    exported = torch.export.export(Layers().train(), inputs)
    prepared = prepare_qat_pt2e(exported.module(), xnnpack(is_per_channel=True, is_qat=True))
    for _ in range(3):
        prepared(*inputs).square().mean().backward()
    module = convert_pt2e(prepared)
    program = PartitionedProgram(module, inputs)
    assert (program.delegates, program.kernels) == (1, [])
    assert b"spirloom.linear_i8" in program.payloads[0]
    check(module, load(program.buffer), inputs, 2e-2)
