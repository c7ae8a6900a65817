"""The configuration of a Llama-like model: sizes, and the traits its family has in common."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.family.rope import Rotation

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
    is another one. `without_rope`: the last of this many layers has no rotary embedding (0: every
    layer has one).
    """

    activation: str = SILU
    before: tuple[str, str] | tuple[None, None] = ("input_layernorm", "post_attention_layernorm")
    after: tuple[str, str] | tuple[None, None] = (None, None)
    joined_heads: bool = False
    scaled: bool = False
    types: tuple[str, ...] = (FULL,)
    local_base: float | None = None
    without_rope: int = 0


_GEMMA_BEFORE = ("input_layernorm", "pre_feedforward_layernorm")
_ADDED = ("post_attention_layernorm", "post_feedforward_layernorm")

LLAMA = Traits()
MISTRAL = Traits(types=(SLIDING,))
GLM4 = Traits(after=("post_self_attn_layernorm", "post_mlp_layernorm"))
SMOLLM3 = Traits(without_rope=4)
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


# Of any size that a config tells: more is no model, and products of two stay in 64 bits.
_MAX = 1 << 30


@dataclass(frozen=True, slots=True)
class Config:
    """The sizes of a model.

    `windows` and `rotations` are those of layers, again and again: how many keys are seen, 0: all,
    and what positions turn. Queries times keys are multiplied by `scale`, or 1 / sqrt(head_size)
    where that is 0. `score_cap` and `logit_cap` are what these, and the model's scores of tokens,
    stay below; 0: anything. `norm_offset` is added to the weights of norms. `by_neighbours`: pairs
    of columns that are turned are neighbours, not half of these columns apart.
    """

    family: str
    traits: Traits
    vocabulary: int
    hidden: int
    inner: int
    layers: int
    heads: int
    cached_heads: int
    head_size: int
    eps: float
    context: int
    tied: bool
    windows: tuple[int, ...]
    rotations: tuple[Rotation, ...]
    scale: float = 0.0
    score_cap: float = 0.0
    logit_cap: float = 0.0
    norm_offset: float = 0.0
    by_neighbours: bool = False

    def __post_init__(self) -> None:
        """Raises ImportFailure for sizes that no model has."""
        for field in fields(self):
            value = getattr(self, field.name)
            if type(value) is int and not 1 <= value <= _MAX:
                raise ImportFailure(f"The model's {field.name}, {value}, is not in 1 … {_MAX}.")
            if type(value) is float and not (np.isfinite(value) and value >= 0):
                raise ImportFailure(f"The model's {field.name}, {value}, is not 0 or above.")
        for window in self.windows:
            if not 0 <= window <= _MAX:
                raise ImportFailure(f"The model's window, {window}, is not in 0 … {_MAX}.")
        if self.heads % self.cached_heads:
            raise ImportFailure(
                f"{self.heads} heads of queries are no multiple of {self.cached_heads} of keys."
            )
        if self.head_size % 2:
            raise ImportFailure(f"A head of {self.head_size} columns has no pairs to turn.")
        if self.rotated_pairs > self.head_size // 2:
            raise ImportFailure(
                f"{2 * self.rotated_pairs} columns to turn are more than a head's {self.head_size}."
            )

    @property
    def rotated_pairs(self) -> int:
        """Of columns, in the layers where positions turn some. Raises ImportFailure."""
        counts = {len(rotation.frequencies) for rotation in self.rotations} - {0}
        if len(counts) > 1:
            raise ImportFailure(
                f"Layers that turn {' or '.join(str(2 * n) for n in sorted(counts))} columns of a "
                "head are not supported."
            )
        return max(counts, default=0)

    def window(self, layer: int) -> int:
        """How many keys a layer's queries see; 0: all."""
        return self.windows[layer % len(self.windows)]

    def rotation(self, layer: int) -> Rotation:
        """What positions turn in a layer."""
        return self.rotations[layer % len(self.rotations)]
