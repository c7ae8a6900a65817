"""The values of `general.architecture` that are read, and what each means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spirloom.family import traits
from spirloom.family.traits import Traits

_GATES = {"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up"}


@dataclass(frozen=True, slots=True)
class Architecture:
    """`by_neighbours`: queries and keys are turned by pairs that lie side by side. `by_hidden`: of
    the model with so many layers scores are divided by the root of what words have for each head,
    and not of a head's size; files do not tell. `gates`: what gates are called, which may be one
    matrix with what they are multiplied by."""

    traits: Traits
    by_neighbours: bool = False
    by_hidden: int | None = None
    gates: Mapping[str, str] = field(default_factory=lambda: _GATES)


ARCHITECTURES = {
    "llama": Architecture(traits.MISTRAL, by_neighbours=True),  # which Mistral's models are, too
    "qwen2": Architecture(traits.LLAMA),
    "qwen3": Architecture(traits.LLAMA),
    "smollm3": Architecture(traits.SMOLLM3, by_neighbours=True),
    "phi3": Architecture(traits.MISTRAL, gates={"mlp.gate_up_proj": "ffn_up"}),
    "olmo2": Architecture(traits.OLMO2),
    "gemma": Architecture(traits.GEMMA),
    "gemma2": Architecture(traits.GEMMA2, by_hidden=46),
    "gemma3": Architecture(traits.GEMMA3, by_hidden=62),
}
