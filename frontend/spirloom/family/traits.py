"""What the models of a family have in common whatever their sizes, whoever reads them."""

from __future__ import annotations

from dataclasses import dataclass

# The activations of gates.
SILU, GELU_TANH = "silu", "gelu_tanh"
# The types of layers, as Hugging Face calls them: those that see all keys, and a window of them.
FULL, SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True, slots=True)
class Traits:
    """`before` and `after` name the norms of a layer's two parts, attention and MLP: of what goes
    in, and of what is added; None: it is not normed. `joined_heads`: queries and keys are normed,
    each by all of its heads together; else by each head, where a model has norms for that.
    `scaled`: words are multiplied by the root of their size. `types`: those of layers, again and
    again, unless a model tells. `local_base`: of the rotary embeddings of sliding layers, if that
    is another one. `unturned`: positions turn nothing in the last of so many layers; 0: they do in
    all.
    """

    activation: str = SILU
    before: tuple[str, str] | tuple[None, None] = ("input_layernorm", "post_attention_layernorm")
    after: tuple[str, str] | tuple[None, None] = (None, None)
    joined_heads: bool = False
    scaled: bool = False
    types: tuple[str, ...] = (FULL,)
    local_base: float | None = None
    unturned: int = 0


_GEMMA_BEFORE = ("input_layernorm", "pre_feedforward_layernorm")
_ADDED = ("post_attention_layernorm", "post_feedforward_layernorm")

LLAMA = Traits()
MISTRAL = Traits(types=(SLIDING,))
GLM4 = Traits(after=("post_self_attn_layernorm", "post_mlp_layernorm"))
SMOLLM3 = Traits(unturned=4)
OLMO2 = Traits(before=(None, None), after=_ADDED, joined_heads=True)
GEMMA = Traits(GELU_TANH, scaled=True)
GEMMA2 = Traits(GELU_TANH, _GEMMA_BEFORE, _ADDED, scaled=True, types=(SLIDING, FULL))
GEMMA3 = Traits(
    GELU_TANH,
    _GEMMA_BEFORE,
    _ADDED,
    scaled=True,
    types=(*[SLIDING] * 5, FULL),
    local_base=10000.0,
)
