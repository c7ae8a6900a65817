"""Fusion of decomposed operators in models of transformers: node counts after the passes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
import transformers as hf
from spirloom import graph_file
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize
from spirloom.torch.build import build
from spirloom.torch.export import decompose, program_of
from spirloom.torch.options import Options

from tests.torch.networks import SMALL, Positional, Tensors, decoder, make_network

LIBRARY = OpLibrary()
RMS, ROTARY = "aten.rms_norm", "spirloom.rotary_embedding"
ATTENTION, SWIGLU, GELU = "aten.scaled_dot_product_attention", "spirloom.swiglu", "aten.gelu"
LAYER_NORM = "aten.native_layer_norm"
ATTENTIONS = (ATTENTION, "spirloom.strided_attention")
# Nodes of each operator in networks of two layers.
COUNTS = {
    "llama": {RMS: 5, ROTARY: 4, ATTENTION: 2, SWIGLU: 2},
    "qwen": {RMS: 5, ROTARY: 4, ATTENTION: 2, SWIGLU: 2},
    "gemma": {RMS: 5, ROTARY: 4, ATTENTION: 2, GELU: 2},
    "gpt2": {LAYER_NORM: 5, ATTENTION: 2, GELU: 2},
    "t5": {RMS: 12, ATTENTION: 6},
}
# Operators that fusion removes completely.
DECOMPOSED = ("aten.pow.Tensor_Scalar", "aten.rsqrt", "aten.mean.dim", "aten.neg", "aten.cos",
           "aten.sin", "aten.expand", "aten.repeat_interleave.self_int", "aten.tanh", "aten.silu",
           "spirloom.fused_elementwise")  # fmt: skip
MORE = {"num_key_value_heads": 2, "max_position_embeddings": 64, "pad_token_id": 0}
OTHERS: dict[str, tuple[Any, dict[str, int]]] = {
    "qwen3": (hf.Qwen3Config(**SMALL, **MORE, head_dim=8),
              {RMS: 9, ROTARY: 4, ATTENTION: 2, SWIGLU: 2}),
    "gemma3": (hf.Gemma3TextConfig(**SMALL, **MORE, head_dim=8),
               {RMS: 13, ROTARY: 4, ATTENTION: 2, GELU: 2}),
    "phi3": (hf.Phi3Config(**SMALL, **MORE), {RMS: 5, ROTARY: 4, ATTENTION: 2, SWIGLU: 2}),
    "olmo2": (hf.Olmo2Config(**SMALL, **MORE), {RMS: 9, ROTARY: 4, ATTENTION: 2, SWIGLU: 2}),
    "cohere": (hf.CohereConfig(**SMALL, **MORE),
               {LAYER_NORM: 3, ROTARY: 4, ATTENTION: 2, SWIGLU: 2}),
    "glm": (hf.GlmConfig(**SMALL, **MORE, head_dim=8),
            {RMS: 5, ROTARY: 4, ATTENTION: 2, SWIGLU: 2}),
    # Both norms of a layer have the same input and, without training, the same weights.
    "neox": (hf.GPTNeoXConfig(**SMALL, max_position_embeddings=64),
             {LAYER_NORM: 3, ROTARY: 4, ATTENTION: 2}),
}  # fmt: skip


def exported(module: torch.nn.Module, inputs: Tensors) -> Any:
    program = torch.export.export(module, (), dict(inputs), strict=False)
    return program_of(decompose(program, LIBRARY))


def check(graph: Graph, expected: dict[str, int], removed: tuple[str, ...] = DECOMPOSED) -> None:
    found = Counter(ATTENTION if node.op in ATTENTIONS else node.op for node in graph.nodes)
    assert {op: found[op] for op in expected} == expected
    assert not [op for op in removed if op in found]
    masks = [LIBRARY.arg(n, "attn_mask") for n in graph.nodes if n.op in ATTENTIONS]
    assert len(masks) == expected[ATTENTION]


def run(graph: Graph, module: torch.nn.Module, inputs: Tensors) -> float:
    """The maximum difference from eager PyTorch, relative to the maximum."""
    with torch.no_grad():
        wanted = module(**inputs).float().numpy()
    model = spirloom.load(graph_file.to_bytes(graph))
    (result,) = model(**{t.name: inputs[t.name].numpy().astype(np.int32) for t in model.inputs})
    return float(np.abs(result - wanted).max() / np.abs(wanted).max())


@pytest.mark.parametrize("name", COUNTS)
def test_by_export(name: str) -> None:
    module, inputs = make_network(name)
    graph = build(exported(module, inputs), LIBRARY, Options())
    check(graph, COUNTS[name])
    causal = [LIBRARY.arg(n, "is_causal") for n in graph.nodes if n.op in ATTENTIONS]
    if name != "t5":  # which has a position bias
        assert causal == [True, True]
        assert not any(LIBRARY.arg(n, "attn_mask") for n in graph.nodes if n.op in ATTENTIONS)


@pytest.mark.parametrize("name", OTHERS)
def test_other_families(name: str) -> None:
    config, expected = OTHERS[name]
    torch.manual_seed(0)
    module, inputs = decoder(config)
    graph = build(exported(module.eval(), inputs), LIBRARY, Options())
    check(graph, expected, DECOMPOSED[:-1])
    assert run(graph, module, inputs) < 1e-4


@pytest.mark.parametrize("name", ["llama", "gemma"])
def test_of_fp16_models(name: str) -> None:
    """Models that cast to float32 and back."""
    module, inputs = make_network(name)
    graph = build(exported(module.half(), inputs), LIBRARY, Options())
    check(graph, COUNTS[name], (*DECOMPOSED, "aten._to_copy"))
    assert run(graph, module, inputs) < 2e-2


def test_dynamic_sizes_need_no_mask() -> None:
    module, inputs = make_network("llama")
    dims = {0: torch.export.Dim("batch", min=1, max=4), 1: torch.export.Dim("seq", min=2, max=12)}
    positional = Positional(module, [*inputs])
    program = torch.export.export(
        positional, (*inputs.values(),), dynamic_shapes={"args": (dims,)}, strict=False
    )
    graph = build(program_of(decompose(program, LIBRARY)), LIBRARY, Options())
    check(graph, COUNTS["llama"])
    assert all(LIBRARY.arg(n, "is_causal") for n in graph.nodes if n.op in ATTENTIONS)


def test_position_ids_as_input() -> None:
    """The RoPE angles are computed once for all layers."""
    module, inputs = make_network("llama")
    inputs["position_ids"] = torch.stack([torch.arange(9), torch.arange(9) + 4])
    options = Options.of({}, {"position_ids": (0, 63)})
    graph = build(exported(module, inputs), LIBRARY, options)
    found = Counter(node.op for node in graph.nodes)
    assert (found[ROTARY], found["aten.cos"], found["aten.sin"]) == (4, 1, 1)
    assert "aten.neg" not in found
    assert run(graph, module, inputs) < 1e-4


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_by_onnx(name: str, tmp_path: Path) -> None:
    from spirloom.onnx.importer import import_model
    from spirloom.onnx.inputs import Shapes

    module, inputs = make_network(name)
    path = tmp_path / "net.onnx"
    torch.onnx.export(module, (), path, kwargs=dict(inputs), dynamo=True, external_data=False)
    graph = import_model(path, LIBRARY, Shapes())
    optimize(graph, LIBRARY)
    found = Counter(node.op for node in graph.nodes)
    expected = {op: n for op, n in COUNTS[name].items() if op != ATTENTION}
    assert {op: found[op] for op in expected} == expected
