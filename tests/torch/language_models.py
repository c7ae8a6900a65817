"""Small language models of transformers with random weights, in Hugging Face directories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import spirloom
import torch
import transformers
from spirloom.family.config import FULL, SLIDING

SIZES = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}


LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 5000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


YARN = {
    "rope_type": "yarn",
    "rope_theta": 5000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32,
}


NO_PADDING = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}  # beyond the vocabulary


LONG_ROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "partial_rotary_factor": 0.75,
    "short_factor": np.linspace(1.0, 2.0, 6).tolist(),
    "long_factor": np.linspace(1.5, 12.0, 6).tolist(),
}


def long_rope(original: int) -> dict[str, Any]:
    """LongRoPE of 12 of 16 columns; Phi-4 rotates 96 of 128."""
    return {"rope_parameters": LONG_ROPE, "original_max_position_embeddings": original}


CONFIGS: dict[str, Any] = {
    "llama": lambda **more: transformers.LlamaConfig(**SIZES | more, tie_word_embeddings=True),
    "llama3": lambda **more: transformers.LlamaConfig(**SIZES | more, rope_scaling=LLAMA3),
    "mistral": lambda **more: transformers.MistralConfig(**SIZES | more, sliding_window=24),
    "qwen2": lambda **more: transformers.Qwen2Config(**SIZES | more),
    "qwen2, yarn": lambda **more: transformers.Qwen2Config(**SIZES | more, rope_scaling=YARN),
    "qwen3": lambda **more: transformers.Qwen3Config(**SIZES | more, head_dim=32),
    "qwen2, some layers with a window": lambda **more: transformers.Qwen2Config(
        **SIZES | more, use_sliding_window=True, sliding_window=9, max_window_layers=1
    ),
    "smollm3": lambda **more: transformers.SmolLM3Config(
        **SIZES | NO_PADDING | more, no_rope_layer_interval=2
    ),
    "phi3": lambda **more: transformers.Phi3Config(**SIZES | NO_PADDING | more, sliding_window=9),
    "phi4, long": lambda **more: transformers.Phi3Config(
        **SIZES | NO_PADDING | more, **long_rope(8)
    ),
    "phi4, short": lambda **more: transformers.Phi3Config(
        **SIZES | NO_PADDING | {"max_position_embeddings": 512} | more,
        **long_rope(256),
    ),
    "olmo2": lambda **more: transformers.Olmo2Config(**SIZES | NO_PADDING | more),
    "olmo2, tied, biases": lambda **more: transformers.Olmo2Config(
        **SIZES | NO_PADDING | more, tie_word_embeddings=True, attention_bias=True
    ),
    "glm": lambda **more: transformers.GlmConfig(**SIZES | NO_PADDING | more, head_dim=16),
    "glm4": lambda **more: transformers.Glm4Config(**SIZES | NO_PADDING | more, head_dim=16),
    "gemma": lambda **more: transformers.GemmaConfig(**SIZES | more, head_dim=32),
    "gemma2": lambda **more: transformers.Gemma2Config(
        **SIZES | more,
        head_dim=32,
        sliding_window=11,
        query_pre_attn_scalar=20,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=3.0,
    ),
    "gemma3": lambda **more: transformers.Gemma3TextConfig(
        **SIZES | more,
        head_dim=32,
        sliding_window=10,
        layer_types=[SLIDING, FULL, SLIDING][: more.get("num_hidden_layers", 2)],
        query_pre_attn_scalar=24,
        rope_parameters={
            FULL: {"rope_type": "linear", "factor": 8.0, "rope_theta": 50000.0},
            SLIDING: {"rope_type": "default", "rope_theta": 100.0},
        },
    ),
}


PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 90, 7, 9]


def saved(name: str, folder: Path, **sizes: int) -> Any:
    """A model with random weights, large enough that tokens differ."""
    torch.manual_seed(1)
    config = CONFIGS[name](**sizes)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    for parameter in model.parameters():
        # Norms included, whose initial weights are 1, or 0 for Gemma.
        scale = 0.3 if parameter.ndim > 1 else 0.1
        parameter.data += torch.normal(0.0, scale, parameter.shape)
    if name.startswith("gemma"):  # scales embeddings, would repeat one token
        model.model.embed_tokens.weight.data /= config.hidden_size**0.5
    model.save_pretrained(folder)
    return model


def eager_tokens(model: Any, count: int) -> tuple[list[int], Any]:
    """Greedy tokens, and the logits of the first."""
    tokens, first = list(PROMPT), None
    with torch.no_grad():
        for _ in range(count):
            scores = model(torch.tensor([tokens])).logits[0, -1]
            first = scores if first is None else first
            tokens.append(int(scores.argmax()))
    return tokens[len(PROMPT) :], first


def check_tokens(data: bytes, wanted: list[int], scores: Any) -> None:
    """Compares the logits of the prompt, and the generated tokens."""
    assert len(set(wanted)) > 4, "the model generates different tokens"
    prefill = spirloom.load(data)
    decode = prefill.context("decode", share_states=True)
    for chunks in ([14], [5, 1, 8]):
        prefill.reset_states()
        begin = 0
        for chunk in chunks:
            (logits,) = prefill(np.array([PROMPT[begin : begin + chunk]], np.int32))
            begin += chunk
        np.testing.assert_allclose(logits[0], scores, rtol=1e-4, atol=1e-4)
        decode.submit_repeated(1).result()
        decode.submit_repeated(62).result()
        assert decode.states["position"].tolist() == [len(PROMPT) + 63]
        assert decode.states["tokens"][len(PROMPT) : len(PROMPT) + 64].tolist() == wanted
