"""The configuration of a Llama-like decoder: sizes, and the architecture traits of its family."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.family.rope import RotaryEmbedding

# Activations of the gated MLP.
SILU, GELU_TANH = "silu", "gelu_tanh"
# Layer types, as in `layer_types` of config.json: full attention, and sliding-window attention.
FULL, SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True, slots=True)
class Traits:
    """Architecture traits that all models of a family share.

    `pre_norms` and `post_norms`: the RMS norms of the inputs and of the outputs of attention and
    MLP; None: no norm. `joint_qk_norm`: Q and K are normalized over all heads jointly; by default
    per head, if the model has such norms. `scaled_embeddings`: token embeddings are multiplied by
    sqrt(hidden_size). `layer_types`: the repeating pattern, unless the model has its own.
    `local_rope_base`: RoPE base of sliding-window layers, if different. `no_rope_interval`: the
    last of every N layers has no RoPE (0: every layer has RoPE).
    """

    activation: str = SILU
    pre_norms: tuple[str, str] | tuple[None, None] = ("input_layernorm", "post_attention_layernorm")
    post_norms: tuple[str, str] | tuple[None, None] = (None, None)
    joint_qk_norm: bool = False
    scaled_embeddings: bool = False
    layer_types: tuple[str, ...] = (FULL,)
    local_rope_base: float | None = None
    no_rope_interval: int = 0


_GEMMA_PRE_NORMS = ("input_layernorm", "pre_feedforward_layernorm")
_POST_NORMS = ("post_attention_layernorm", "post_feedforward_layernorm")

LLAMA = Traits()
MISTRAL = Traits(layer_types=(SLIDING,))
GLM4 = Traits(post_norms=("post_self_attn_layernorm", "post_mlp_layernorm"))
SMOLLM3 = Traits(no_rope_interval=4)
OLMO2 = Traits(pre_norms=(None, None), post_norms=_POST_NORMS, joint_qk_norm=True)
GEMMA = Traits(GELU_TANH, scaled_embeddings=True)
GEMMA2 = Traits(
    GELU_TANH,
    _GEMMA_PRE_NORMS,
    _POST_NORMS,
    scaled_embeddings=True,
    layer_types=(SLIDING, FULL),
)
GEMMA3 = Traits(
    GELU_TANH,
    _GEMMA_PRE_NORMS,
    _POST_NORMS,
    scaled_embeddings=True,
    layer_types=(*[SLIDING] * 5, FULL),
    local_rope_base=10000.0,
)


# The maximum of any size in a configuration. The product of two sizes fits in 64 bits.
_MAX = 1 << 30


@dataclass(frozen=True, slots=True)
class Config:
    """The sizes of a model.

    `windows` and `rotations` are repeating patterns over the layers: the attention window (0: all
    keys) and RoPE. `attn_scale` multiplies the attention scores; 0: 1 / sqrt(head_size).
    `attn_softcap` and `logit_softcap` are the bounds of logit soft-capping for attention scores and
    output logits; 0: none. `norm_offset` is added to the weights of RMS norms. `interleaved_rope`:
    RoPE rotates pairs of adjacent columns (2i, 2i + 1), not columns half a head apart.
    """

    family: str
    traits: Traits
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    kv_heads: int
    head_size: int
    rms_norm_eps: float
    context: int
    tied_embeddings: bool
    windows: tuple[int, ...]
    rotations: tuple[RotaryEmbedding, ...]
    attn_scale: float = 0.0
    attn_softcap: float = 0.0
    logit_softcap: float = 0.0
    norm_offset: float = 0.0
    interleaved_rope: bool = False

    def __post_init__(self) -> None:
        """Raises ImportFailure for invalid sizes."""
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is int and not 1 <= value <= _MAX:
                raise ImportFailure(f"The model's {field.name}, {value}, is not in 1 … {_MAX}.")
            if type(value) is float and not (np.isfinite(value) and value >= 0):
                raise ImportFailure(f"The model's {field.name}, {value}, is not finite and ≥ 0.")
        for window in self.windows:
            if not 0 <= window <= _MAX:
                raise ImportFailure(f"The attention window, {window}, is not in 0 … {_MAX}.")
        if self.num_heads % self.kv_heads:
            raise ImportFailure(
                f"The number of query heads, {self.num_heads}, is not a multiple of the number of "
                f"KV heads, {self.kv_heads}."
            )
        if self.head_size % 2:
            raise ImportFailure(f"The head size, {self.head_size}, is odd; RoPE requires pairs.")
        if self.rotated_pairs > self.head_size // 2:
            raise ImportFailure(
                f"RoPE of {2 * self.rotated_pairs} columns exceeds the head size, "
                f"{self.head_size}."
            )

    @property
    def rotated_pairs(self) -> int:
        """The number of column pairs of a head that RoPE rotates. Raises ImportFailure if layers
        differ."""
        counts = {len(rotation.frequencies) for rotation in self.rotations} - {0}
        if len(counts) > 1:
            raise ImportFailure(
                f"RoPE of {' and '.join(str(2 * n) for n in sorted(counts))} columns in different "
                "layers is not supported."
            )
        return max(counts, default=0)

    def window(self, layer: int) -> int:
        """The attention window of a layer, in keys; 0: all keys."""
        return self.windows[layer % len(self.windows)]

    def rotation(self, layer: int) -> RotaryEmbedding:
        """The RoPE of a layer."""
        return self.rotations[layer % len(self.rotations)]
