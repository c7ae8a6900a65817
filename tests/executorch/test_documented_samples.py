"""The samples of ExecuTorch's pages that name Vulkan, with Spirloom as the backend.

Vulkan overview and partitioner, quantization, profiling, LLM and fallback between backends: with
ExecuTorch's partitioner, as printed, and with SpirloomPartitioner in its place. The networks have
their published layers, with fewer channels and smaller images.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
from executorch.backends.vulkan.quantizer.vulkan_quantizer import (
    VulkanQuantizer,
    get_symmetric_quantization_config,
)
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools import Inspector
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.runtime import Runtime, Verification
from spirloom.executorch import SpirloomPartitioner
from torch import nn
from torch.export import Dim
from torchao.quantization import (
    Int8DynamicActivationIntxWeightConfig,
    IntxWeightOnlyConfig,
    quantize_,
)
from torchao.quantization.granularity import PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.utils import unwrap_tensor_subclass

from tests.executorch.documented_networks import InceptionV3, MobileNetV2
from tests.executorch.llama import export
from tests.executorch.programs import Inputs, check, load, run

PARTITIONERS: dict[str, type[Any]] = {"vulkan": VulkanPartitioner, "spirloom": SpirloomPartitioner}
BACKENDS = {"vulkan": "VulkanBackend", "spirloom": "SpirloomBackend"}
each_partitioner = pytest.mark.parametrize("partitioner", PARTITIONERS)


def program_of(exported: Any, partitioners: list[Any], **options: Any) -> Any:
    with torch.no_grad():
        edge = to_edge_transform_and_lower(exported, partitioner=partitioners, **options)
        return edge.to_executorch()


def backends_of(program: Any) -> set[str]:
    return {delegate.id for delegate in program.executorch_program.execution_plan[0].delegates}


def exported_of(module: nn.Module, inputs: Inputs, shapes: Any = None) -> Any:
    with torch.no_grad():
        return torch.export.export(module, inputs, dynamic_shapes=shapes)


@each_partitioner
def test_overview(partitioner: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    mobilenet_v2, sample_inputs = MobileNetV2(8).eval(), (torch.randn(1, 3, 64, 64),)
    exported_program = exported_of(mobilenet_v2, sample_inputs)
    program = program_of(exported_program, [PARTITIONERS[partitioner]()])
    with (tmp_path / "mv2_vulkan.pte").open("wb") as file:
        program.write_to_file(file)
    assert backends_of(program) == {BACKENDS[partitioner]}
    check(mobilenet_v2, load((tmp_path / "mv2_vulkan.pte").read_bytes()), sample_inputs, 1e-4)


@each_partitioner
def test_partitioner_options(partitioner: str) -> None:
    """Dynamic shapes and fp16."""
    torch.manual_seed(0)
    layers = MobileNetV2(8).eval().features[:6]
    size = 8 * Dim("size", min=1, max=5)
    exported_program = exported_of(layers, (torch.randn(1, 3, 32, 32),), ({2: size, 3: size},))
    compile_options = {"require_dynamic_shapes": True, "force_fp16": True}
    program = program_of(exported_program, [PARTITIONERS[partitioner](compile_options)])
    assert backends_of(program) == {BACKENDS[partitioner]}
    method = load(bytes(program.buffer))
    for side in (32, 40, 8):
        check(layers, method, (torch.randn(1, 3, side, side),), 2e-2)


class Layers(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(128, 64), nn.Linear(64, 32)

    def forward(self, x: Any) -> Any:
        return self.linear2(torch.relu(self.linear1(x)))


def by_pt2e(module: nn.Module, inputs: Inputs, **options: Any) -> nn.Module:
    quantizer = VulkanQuantizer().set_global(get_symmetric_quantization_config(**options))
    prepared = prepare_pt2e(torch.export.export(module, inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def by_torchao(module: nn.Module, config: Any) -> nn.Module:
    quantize_(module, config, lambda part, _: isinstance(part, nn.Linear))
    return unwrap_tensor_subclass(module)


INT4 = {"weight_dtype": torch.int4, "weight_granularity": PerGroup(32)}
# Quantization, and whether it quantizes activations.
QUANTIZATIONS: dict[str, tuple[Callable[[nn.Module, Inputs], nn.Module], bool]] = {
    "pt2e, weights of 8 bits": (by_pt2e, False),
    "pt2e, weights of 4 bits": (lambda m, x: by_pt2e(m, x, weight_bits=4), False),
    "pt2e, dynamic": (lambda m, x: by_pt2e(m, x, is_dynamic=True), True),
    "torchao, weights of 4 bits": (
        lambda m, _: by_torchao(m, IntxWeightOnlyConfig(torch.int4, PerGroup(32))),
        False,
    ),
    "torchao, dynamic": (
        lambda m, _: by_torchao(m, Int8DynamicActivationIntxWeightConfig(**INT4)),
        True,
    ),
}


@pytest.mark.parametrize("quantization", QUANTIZATIONS)
@each_partitioner
def test_quantization(partitioner: str, quantization: str) -> None:
    torch.manual_seed(0)
    sample_inputs = (torch.randn(2, 128),)
    quantize, is_dynamic = QUANTIZATIONS[quantization]
    quantized = quantize(Layers().eval(), sample_inputs)
    program = program_of(exported_of(quantized, sample_inputs), [PARTITIONERS[partitioner]()])
    assert backends_of(program) == {BACKENDS[partitioner]}
    # A value half-way between two codes may round to either.
    check(quantized, load(bytes(program.buffer)), sample_inputs, 2e-2 if is_dynamic else 1e-5)


@each_partitioner
def test_profiling(partitioner: str, tmp_path: Path) -> None:
    """InceptionV3 in fp16, three executions, the table of the inspector."""
    torch.manual_seed(0)
    inception, sample_inputs = InceptionV3(8).eval(), (torch.randn(1, 3, 75, 75),)
    exported_program = exported_of(inception, sample_inputs)
    chosen = PARTITIONERS[partitioner]({"force_fp16": True})
    manager = program_of(exported_program, [chosen], generate_etrecord=True)
    manager.get_etrecord().save(tmp_path / "ic3_vulkan.etrecord")
    buffer = bytes(manager.buffer)
    load(buffer)  # with the message of a failure
    program = Runtime.get().load_program(
        buffer, verification=Verification.Minimal, enable_etdump=True
    )
    method = program.load_method("forward")
    for _ in range(3):
        (y,) = method.execute(list(sample_inputs))
    with torch.no_grad():
        torch.testing.assert_close(y, inception(*sample_inputs), rtol=2e-2, atol=2e-2)
    dump = tmp_path / "ic3_vulkan.etdp"
    program.write_etdump_result_to_file(str(dump), str(tmp_path / "debug.bin"))
    inspector = Inspector(etdump_path=str(dump), etrecord=str(tmp_path / "ic3_vulkan.etrecord"))
    (block,) = (block for block in inspector.event_blocks if block.name == "Execute")
    names = [event.name for event in block.events]
    assert {"DELEGATE_CALL", "Method::execute"} <= set(names)
    delegated = [event for event in block.events if event.is_delegated_op]
    assert len(delegated) > 90
    assert all(len(event.perf_data.raw) == 3 for event in delegated)
    assert sum(inspector.to_dataframe()["event_name"] == "Method::execute") == 1


def test_language_model() -> None:
    """export_llama with the KV cache, 8da4w and --vulkan-force-fp16: a prompt, then tokens."""
    exported = export("8da4w", dynamic=True, fp16=True)
    method = load(exported.program)
    position = 0
    for tokens in ([5, 9, 2, 44, 7], [3], [61]):
        given = (torch.tensor([tokens]), torch.tensor([position]))
        with torch.no_grad():
            expected = exported.eager(given[0], {"input_pos": given[1]})
        assert (run(method, given)[0] - expected).abs().max() <= 5e-2
        position += len(tokens)


class Classifier(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 8, 3), nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        return self.last(torch.relu(self.first(x)).amax((2, 3)))


@each_partitioner
def test_fallback_to_another_backend(partitioner: str) -> None:
    """The first partitioner of a list takes what it supports, XNNPACK the rest."""
    torch.manual_seed(0)
    net, sample_inputs = Classifier().eval(), (torch.randn(1, 3, 12, 12),)
    blocked = [exir_ops.edge.aten.linear.default, exir_ops.edge.aten.addmm.default]
    first = PARTITIONERS[partitioner](operator_blocklist=blocked)
    program = program_of(exported_of(net, sample_inputs), [first, XnnpackPartitioner()])
    assert backends_of(program) == {BACKENDS[partitioner], "XnnpackBackend"}
    check(net, load(bytes(program.buffer)), sample_inputs, 1e-4)
