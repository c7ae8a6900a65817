"""ExecuTorch's Llama example, in a tiny configuration, exported as ExecuTorch does."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from executorch.examples.models.llama.llama_transformer import construct_transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.source_transformation.custom_kv_cache import (
    replace_kv_cache_with_custom_kv_cache,
)
from executorch.examples.models.llama.source_transformation.quantize import (
    get_quant_weight_transform,
)
from executorch.examples.models.llama.source_transformation.sdpa import replace_sdpa_with_custom_op
from executorch.extension.llm.export.builder import DType, LLMEdgeManager
from executorch.extension.llm.export.partitioner_lib import get_vulkan_partitioner

CONTEXT = 72


@dataclass(frozen=True, slots=True)
class Exported:
    """The module after ExecuTorch's transformations, and its program."""

    eager: Any
    program: bytes
    delegates: int
    kernels: list[str]  # operators that run in ExecuTorch's kernels


def export(
    mode: str, *, dynamic: bool = False, fp16: bool = False, partitioner: Any = None
) -> Exported:
    """Two layers with a KV cache, for one token per run, or with `dynamic` for several.

    mode         "f32", or a quantization mode of ExecuTorch: "4w", "8da4w"
    partitioner  by default that of export_llama --vulkan
    """
    torch.manual_seed(0)
    args = ModelArgs(
        dim=64, n_layers=2, n_heads=4, n_kv_heads=2, head_dim=16, hidden_dim=128, vocab_size=128,
        max_seq_len=CONTEXT, max_context_len=CONTEXT, use_kv_cache=True,
        use_sdpa_with_kv_cache_op=True, generate_full_logits=True, enable_dynamic_shape=dynamic,
    )  # fmt: skip
    tokens = torch.tensor([[1, 2, 3]] if dynamic else [[1]])
    manager = LLMEdgeManager(
        model=construct_transformer(args).eval(), modelname="tiny", max_seq_len=CONTEXT,
        use_kv_cache=True, dtype=DType.fp32, enable_dynamic_shape=dynamic,
        example_inputs=(tokens, {"input_pos": torch.tensor([0])}), generate_full_logits=True,
    )  # fmt: skip
    quantized = get_quant_weight_transform(
        quantization_mode=None if mode == "f32" else mode,
        group_size=32,
        computation_dtype=DType.fp32,
    )
    attention = [replace_sdpa_with_custom_op, replace_kv_cache_with_custom_kv_cache]
    manager = manager.source_transform([*([] if mode == "f32" else [quantized]), *attention])
    eager = copy.deepcopy(manager.model)
    with torch.no_grad():
        manager = manager.export()
        manager.run_canonical_optimizations()
        edge = manager.pt2e_quantize([]).export_to_edge()
        chosen = partitioner or get_vulkan_partitioner("fp32", dynamic, fp16)
        done = edge.to_backend([chosen]).to_executorch()
    plan = done.export_program.executorch_program.execution_plan[0]
    return Exported(
        eager,
        bytes(done.export_program.buffer),
        len(plan.delegates),
        [operator.name for operator in plan.operators],
    )
