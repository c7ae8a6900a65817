"""Modules quantized by torchao: one node per layer and embedding, compared with eager PyTorch."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import spirloom.torch
import torch
from spirloom import graph_file
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.torch.archived_program import read_archive
from spirloom.torch.build import build
from spirloom.torch.export import decompose, program_of
from spirloom.torch.options import Options
from torchao.quantization import (
    Int8DynamicActivationIntxWeightConfig,
    IntxWeightOnlyConfig,
    quantize_,
)
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.utils import unwrap_tensor_subclass

LIBRARY = OpLibrary()
TOKENS = torch.tensor([[1, 2, 49], [0, 7, 8]], dtype=torch.int32)
CONFIGS = {
    "4 bits": IntxWeightOnlyConfig(torch.int4, PerGroup(32)),
    "4 bits, 128": IntxWeightOnlyConfig(torch.int4, PerGroup(128)),
    "8 bits": IntxWeightOnlyConfig(torch.int8, PerAxis(0)),
}


class Network(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.tokens = torch.nn.Embedding(50, 128)
        self.inner = torch.nn.Linear(128, 128)
        self.head = torch.nn.Linear(128, 33, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.tokens(tokens)
        return self.head(torch.relu(self.inner(x) + x))


def quantized(config: Any, dtype: torch.dtype = torch.float32, embeddings: bool = True) -> Any:
    module = Network().eval().to(dtype)
    quantize_(module, config)
    if embeddings:
        quantize_(module, config, lambda part, _: isinstance(part, torch.nn.Embedding))
    return module


def exported(module: Any) -> Any:
    plain = unwrap_tensor_subclass(copy.deepcopy(module))
    return decompose(torch.export.export(plain, (TOKENS,)), LIBRARY)


def run(graph: Graph) -> Any:
    (y,) = spirloom.load(graph_file.to_bytes(graph))(TOKENS.numpy())
    return np.asarray(y, np.float64)


@pytest.mark.parametrize("name", CONFIGS)
def test_weight_only(name: str) -> None:
    module = quantized(CONFIGS[name])
    graph = build(program_of(exported(module)), LIBRARY, Options())
    kind = f"w{name[0]}"
    assert [n.op for n in graph.nodes] == [f"spirloom.embedding_{kind}", f"spirloom.linear_{kind}",
                                          f"spirloom.linear_{kind}"]  # fmt: skip
    with torch.no_grad():
        wanted = module(TOKENS).double().numpy()
    np.testing.assert_allclose(run(graph), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CONFIGS)
def test_fp16_scales_are_stored_as_fp16(name: str) -> None:
    graph = build(program_of(exported(quantized(CONFIGS[name], torch.float16))), LIBRARY, Options())
    constants = {id(t): t for t in graph.tensors() if t.data is not None}.values()
    elements = (50 + 128 + 33) * 128
    size = sum(t.size for t in constants) - 128 * 2
    assert size <= elements * (0.60 if name[0] == "4" else 1.05)


def test_archives_give_equal_bytes(tmp_path: Path) -> None:
    program = exported(quantized(CONFIGS["4 bits"]))
    torch.export.save(program, tmp_path / "net.pt2")
    from_archive = build(read_archive(tmp_path / "net.pt2"), LIBRARY, Options())
    in_process = build(program_of(program), LIBRARY, Options())
    assert graph_file.to_bytes(from_archive) == graph_file.to_bytes(in_process)


DYNAMIC = Int8DynamicActivationIntxWeightConfig(
    weight_dtype=torch.int4, weight_granularity=PerGroup(32)
)


@pytest.mark.parametrize("config", [CONFIGS["4 bits"], DYNAMIC], ids=["weights", "activations"])
def test_any_number_of_rows(config: Any) -> None:
    plain = unwrap_tensor_subclass(quantized(config, embeddings=False))
    sizes = ({1: torch.export.Dim("s", min=1, max=16)},)
    program = decompose(torch.export.export(plain, (TOKENS,), dynamic_shapes=sizes), LIBRARY)
    graph = build(program_of(program), LIBRARY, Options())
    model = spirloom.load(graph_file.to_bytes(graph))
    for length in (1, 3, 16, 2):
        tokens = torch.arange(2 * length, dtype=torch.int32).reshape(2, length)
        with torch.no_grad():
            wanted = plain(tokens).numpy()
        np.testing.assert_allclose(model(tokens.numpy())[0], wanted, rtol=1e-4, atol=2e-3)


def test_quantization_at_export() -> None:
    module = Network().eval()
    with torch.no_grad():
        wanted = module(TOKENS).numpy()
    (y,) = spirloom.load(spirloom.torch.export(module, (TOKENS,), quantize="int8:32"))(
        TOKENS.numpy()
    )
    error = np.square(np.asarray(y) - wanted).mean() / np.square(wanted).mean()
    assert 0 < error < 1e-3


def test_dynamic_activations() -> None:
    module = quantized(DYNAMIC, embeddings=False)
    graph = build(program_of(exported(module)), LIBRARY, Options())
    assert [n.op.partition(".")[2] for n in graph.nodes] == [
        "embedding", "choose_qparams", "linear_a8w4", "choose_qparams", "linear_a8w4"
    ]  # fmt: skip
    with torch.no_grad():
        wanted = module(TOKENS).double().numpy()
    # Ties may be rounded differently.
    np.testing.assert_allclose(run(graph), wanted, rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_choose_qparams_equals_torchao(dtype: torch.dtype) -> None:
    from torchao.quantization.quant_primitives import MappingType, choose_qparams_affine

    x = torch.randn(5, 64) * 3 + 1
    low, high = (-128, 127) if dtype is torch.int8 else (0, 255)
    for kind, block in ((MappingType.ASYMMETRIC, (1, 64)), (MappingType.SYMMETRIC, (1, 32))):
        scale, zero = choose_qparams_affine(
            x, kind, block, dtype, low, high, zero_point_dtype=torch.int32
        )
        given = LIBRARY.compute("spirloom.choose_qparams", {
            "x": x.numpy(), "quant_min": low, "quant_max": high, "block_size": block,
            "symmetric": kind is MappingType.SYMMETRIC,
        })  # fmt: skip
        np.testing.assert_allclose(given[0], scale.numpy(), rtol=1e-6)
        np.testing.assert_array_equal(given[1], zero.numpy())
