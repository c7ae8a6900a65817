"""Writes models of transformers as GGUF files, with the package of llama.cpp's converter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type

_ARCHITECTURES = {name: code for code, name in gguf.MODEL_ARCH_NAMES.items()}


def architecture(model: Any) -> str:
    """GGUF's name of the model's architecture."""
    return str(model.config.model_type.removesuffix("_text"))


def tensor_name(parameter: str, model: Any) -> str:
    """GGUF's name of a parameter of transformers."""
    names = gguf.get_tensor_name_map(
        _ARCHITECTURES[architecture(model)], model.config.num_hidden_layers
    )
    found = names.get_name(parameter, try_suffixes=(".weight", ".bias"))
    assert found is not None, parameter
    return str(found)


def interleave_heads(rows: Any, heads: int) -> Any:
    """Permutes the rows of Q and K for interleaved RoPE, as llama.cpp's converter does."""
    shape = rows.shape
    pairs = rows.reshape(heads, 2, shape[0] // heads // 2, *shape[1:])
    return pairs.swapaxes(1, 2).reshape(shape)


def write(
    model: Any, path: Path, kinds: dict[str, Type] | Type, factors: Any = None,
    vocabulary: Callable[[gguf.GGUFWriter], None] | None = None, part_tensors: int = 0,
) -> None:  # fmt: skip
    """Writes the model with matrices of these types, by name suffix or one for all, and a
    vocabulary, by default of synthetic tokens. With `part_tensors`, in parts of so many tensors.

    Sets the model's parameters to the dequantized values of the file.
    """
    config = model.config
    writer = gguf.GGUFWriter(path, architecture(model), split_max_tensors=part_tensors)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    size = model.model.layers[0].self_attn.head_dim
    if size * config.num_attention_heads != config.hidden_size:
        writer.add_key_length(size)
        writer.add_value_length(size)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    _add_rope(writer, config, size)
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
    if config.model_type == "gemma2":
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if vocabulary is None:
        writer.add_token_list([f"token {i}" for i in range(config.vocab_size)])
    else:
        vocabulary(writer)
    if factors is not None:
        writer.add_tensor("rope_freqs.weight", np.asarray(factors, np.float32))
    for name, parameter in model.named_parameters():
        _add(writer, model, name, parameter, kinds)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_rope(writer: gguf.GGUFWriter, config: Any, size: int) -> None:
    rope = config.rope_parameters
    rope = rope.get("full_attention", rope)
    writer.add_rope_dimension_count(int(size * rope.get("partial_rotary_factor", 1.0)))
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        _add_yarn(writer, rope)
    if rope["rope_type"] == "longrope":
        original = config.original_max_position_embeddings
        extension = config.max_position_embeddings / original
        writer.add_rope_scaling_orig_ctx_len(original)
        attention_factor = np.sqrt(1 + np.log(extension) / np.log(original))
        writer.add_rope_scaling_attn_factors(float(attention_factor))
        for name in ("long", "short"):
            factors = np.array(rope[f"{name}_factor"], np.float32)
            writer.add_tensor(f"rope_factors_{name}.weight", factors)


def _add_yarn(writer: gguf.GGUFWriter, rope: dict[str, Any]) -> None:
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(rope["factor"])
    writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    optional = {
        "attention_factor": writer.add_rope_scaling_yarn_attn_factor,
        "beta_fast": writer.add_rope_scaling_yarn_beta_fast,
        "beta_slow": writer.add_rope_scaling_yarn_beta_slow,
        "mscale_all_dim": writer.add_rope_scaling_yarn_log_mul,
    }
    for key, add in optional.items():
        if key in rope:
            add(rope[key])


def _add(
    writer: gguf.GGUFWriter, model: Any, name: str, parameter: Any, kinds: dict[str, Type] | Type
) -> None:
    values = parameter.detach().numpy()
    kind = Type.F32
    if values.ndim > 1:
        named = {} if isinstance(kinds, Type) else kinds
        default = kinds if isinstance(kinds, Type) else Type.F32
        kind = next((k for end, k in named.items() if name.endswith(f"{end}.weight")), default)
    heads = {"q_proj": model.config.num_attention_heads, "k_proj": model.config.num_key_value_heads}
    by_pairs = model.config.model_type in ("llama", "smollm3")
    count = heads.get(name.split(".")[-2], 0) if by_pairs else 0
    offset = 1 if model.config.model_type.startswith("gemma") and values.ndim == 1 else 0
    values = values + np.float32(offset)
    if count:
        values = interleave_heads(values, count)
    stored = quantized_blocks(values, kind)
    with torch.no_grad():
        floats = gguf.quants.dequantize(stored, kind).reshape(values.shape)
        if count:  # inverse of interleave_heads()
            floats = floats.reshape(count, -1, 2, *values.shape[1:]).swapaxes(1, 2)
        floats = floats.reshape(values.shape).astype(np.float32) - np.float32(offset)
        parameter.copy_(torch.from_numpy(floats))
    writer.add_tensor(tensor_name(name, model), stored, raw_dtype=kind)


def quantized_blocks(values: Any, kind: Type) -> Any:
    """Blocks of a type. For types that the package cannot write: random blocks, small scales."""
    middle = {Type.Q4_K: 7.5, Type.Q5_K: 15.5, Type.Q6_K: 0.0}.get(kind)
    if middle is None:
        return gguf.quants.quantize(values, kind)
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    generator = np.random.default_rng(values.size)
    count = values.size // elements
    blocks = generator.integers(0, 256, (count, size), np.uint8)
    scales = generator.uniform(0.0005, 0.001, (count, 2))
    scales[:, 1] *= middle  # the factor of the minima: values are centered on 0
    scales = scales.astype(np.float16).view(np.uint8)
    at = 208 if kind is Type.Q6_K else 0
    blocks[:, at : at + 4] = scales[:, : size - at]
    return blocks.reshape(values.shape[0], -1)
