"""The values of `model_type` that are read, and what each means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spirloom.family import traits
from spirloom.family.traits import Traits

_TANH = "gelu_pytorch_tanh"
_OF_GLM: Mapping[str, Any] = {"head_dim": 128, "partial_rotary_factor": 0.5}
_OF_GEMMA: Mapping[str, Any] = {"head_dim": 256, "tie_word_embeddings": True}


@dataclass(frozen=True, slots=True)
class ModelType:
    """`activations` are the names that the traits' activation may have; `defaults`, what holds
    where config.json does not tell; `norm_offset`, what norms add to their weights.
    `by_neighbours`: positions turn pairs of columns that lie side by side."""

    traits: Traits
    activations: tuple[str, ...] = ("silu",)
    norm_offset: float = 0.0
    defaults: Mapping[str, Any] = field(default_factory=dict)
    by_neighbours: bool = False


MODEL_TYPES = {
    "llama": ModelType(traits.LLAMA),
    "mistral": ModelType(traits.MISTRAL, defaults={"sliding_window": 4096}),
    "ministral": ModelType(traits.MISTRAL, defaults={"sliding_window": 4096}),
    "qwen2": ModelType(traits.LLAMA, defaults={"use_sliding_window": False}),
    "qwen3": ModelType(traits.LLAMA, defaults={"use_sliding_window": False, "head_dim": 128}),
    "smollm3": ModelType(
        traits.SMOLLM3,
        defaults={
            "use_sliding_window": False,
            "rope_theta": 2000000.0,
            "tie_word_embeddings": True,
        },
    ),
    "phi3": ModelType(traits.MISTRAL, defaults={"original_max_position_embeddings": 4096}),
    "olmo2": ModelType(traits.OLMO2),
    "glm": ModelType(traits.LLAMA, defaults=_OF_GLM, by_neighbours=True),
    "glm4": ModelType(traits.GLM4, defaults=_OF_GLM, by_neighbours=True),
    # "gelu" is what the first files say, and mean the other one.
    "gemma": ModelType(traits.GEMMA, (_TANH, "gelu"), 1.0, _OF_GEMMA),
    "gemma2": ModelType(
        traits.GEMMA2,
        (_TANH,),
        1.0,
        {
            **_OF_GEMMA,
            "query_pre_attn_scalar": 256,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
            "sliding_window": 4096,
        },
    ),
    "gemma3_text": ModelType(
        traits.GEMMA3,
        (_TANH,),
        1.0,
        {
            **_OF_GEMMA,
            "query_pre_attn_scalar": 256,
            "sliding_window": 4096,
            "rope_theta": 1000000.0,
        },
    ),
}
