"""Modules quantized with torchao: delegates run, and the import has one node per layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from spirloom.op_library import OpLibrary
from spirloom.pte.file import ProgramFile
from spirloom.pte.importer import import_method
from spirloom.torch.options import Options
from torchao.quantization import (
    Int8DynamicActivationIntxWeightConfig,
    IntxWeightOnlyConfig,
    quantize_,
)
from torchao.quantization.granularity import PerGroup
from torchao.utils import unwrap_tensor_subclass

from tests.executorch.programs import Lowered, check, load

CONFIGS = {
    "linear_w4": ("et_vk.linear_q4gsw", IntxWeightOnlyConfig(torch.int4, PerGroup(32))),
    "linear_a8w4": (
        "et_vk.linear_dq8ca_q4gsw",
        Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=PerGroup(32)
        ),
    ),
}


class Layers(torch.nn.Module):  # type: ignore[misc]
    """Two layers. (ExecuTorch's passes fail for column counts that it would pad.)"""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(128, 64)
        self.second = torch.nn.Linear(64, 36)

    def forward(self, x: Any) -> Any:
        return self.second(torch.relu(self.first(x)))


class Table(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.tokens = torch.nn.Embedding(50, 64)

    def forward(self, index: Any) -> Any:
        return self.tokens(index)


def quantized(module: Any, config: Any, kind: type) -> Any:
    quantize_(module.eval(), config, lambda part, _: isinstance(part, kind))
    return unwrap_tensor_subclass(module)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("op", CONFIGS)
def test_layers(op: str, rows: int, tmp_path: Path) -> None:
    name, config = CONFIGS[op]
    module = quantized(Layers(), config, torch.nn.Linear)
    inputs = (torch.randn(rows, 128),)
    program = Lowered(module, inputs)
    assert name in program.names and program.delegates == 1
    # A value half-way between two codes may round to either.
    check(module, load(program.buffer), inputs, 1e-5 if op == "linear_w4" else 5e-3)
    (tmp_path / "layers.pte").write_bytes(program.buffer)
    graph = import_method(ProgramFile(tmp_path / "layers.pte"), OpLibrary(), Options())
    assert [n.op for n in graph.nodes].count(f"spirloom.{op}") == 2


@pytest.mark.parametrize("fp16", [False, True])
def test_table(fp16: bool, tmp_path: Path) -> None:
    config = IntxWeightOnlyConfig(torch.int4, PerGroup(32))
    module = quantized(Table(), config, torch.nn.Embedding)
    inputs = (torch.tensor([[1, 49, 7]], dtype=torch.int64),)
    program = Lowered(module, inputs, force_fp16=fp16)
    assert "et_vk.embedding_q4gsw" in program.names
    check(module, load(program.buffer), inputs, 2e-3 if fp16 else 1e-5)
    (tmp_path / "table.pte").write_bytes(program.buffer)
    graph = import_method(ProgramFile(tmp_path / "table.pte"), OpLibrary(), Options())
    assert "spirloom.embedding_w4" in [n.op for n in graph.nodes]
