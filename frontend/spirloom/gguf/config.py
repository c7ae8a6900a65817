"""GGUF metadata and tensors as the configuration and weights of a Llama-like model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.family import config
from spirloom.family.config import FULL, SLIDING, Config, Traits
from spirloom.family.rope import (
    ORIGINAL,
    Rotation,
    divided,
    every_so_many,
    plain_frequencies,
    stretched,
    yarn,
)
from spirloom.family.weights import Stored
from spirloom.gguf.blocks import BLOCKS, name_of, read_rows
from spirloom.gguf.file import GgufFile
from spirloom.quantized_weights import QuantizedMatrix

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
    "llama": Architecture(config.MISTRAL, by_neighbours=True),  # which Mistral's models are, too
    "qwen2": Architecture(config.LLAMA),
    "qwen3": Architecture(config.LLAMA),
    "smollm3": Architecture(config.SMOLLM3, by_neighbours=True),
    "phi3": Architecture(config.MISTRAL, gates={"mlp.gate_up_proj": "ffn_up"}),
    "olmo2": Architecture(config.OLMO2),
    "gemma": Architecture(config.GEMMA),
    "gemma2": Architecture(config.GEMMA2, by_hidden=46),
    "gemma3": Architecture(config.GEMMA3, by_hidden=62),
}


TABLE, HEAD, FREQUENCIES = "token_embd.weight", "output.weight", "rope_freqs.weight"
LONG, SHORT = "rope_factors_long.weight", "rope_factors_short.weight"

_WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
_OF_LAYERS = {
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.down_proj": "ffn_down",
}
# Before attention and MLP, and after them.
_NORMS = ("attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm")
_LAYER = re.compile(r"model\.layers\.(\d+)\.(.+)\.(weight|bias)")


class GgufTensors:
    """A source of weights."""

    def __init__(self, file: GgufFile, architecture: Architecture) -> None:
        self._file = file
        traits = architecture.traits
        self._of_layers = {
            **_OF_LAYERS,
            **architecture.gates,
            **{
                norm: name
                for norm, name in zip(traits.before + traits.after, _NORMS, strict=True)
                if norm
            },
        }

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""
        return self.called(name) in self._file.tensors

    def read(self, name: str) -> Stored:
        """Its floats or its numbers. Raises ImportFailure."""
        return read_tensor(self._file, self.called(name))

    def called(self, name: str) -> str:
        """Its name in the file."""
        found = _LAYER.fullmatch(name)
        if found is None:
            whole, _, end = name.rpartition(".")
            return f"{_WHOLE[whole]}.{end}"
        return f"blk.{found[1]}.{self._of_layers.get(found[2], found[2])}.{found[3]}"


def read_tensor(file: GgufFile, name: str) -> Stored:
    """A tensor by its name in the file, which has it. Raises ImportFailure for unknown types."""
    entry = file.tensors[name]
    if entry.kind not in BLOCKS:
        known = ", ".join(map(name_of, BLOCKS))
        raise ImportFailure(
            f"{file.path}: tensor {name!r} is of type {name_of(entry.kind)}, and those that are "
            f"read are: {known}."
        )
    stored = read_rows(entry.kind, file.rows_of(name))
    if isinstance(stored, QuantizedMatrix):
        return stored if len(entry.shape) == 2 else stored.floats().reshape(entry.shape)
    return stored.reshape(entry.shape)


# How positions are scaled: the values of `rope.scaling.type`.
_SCALINGS = ("none", "linear", "longrope", "yarn")
# What config.json calls the keys of `rope.scaling` that a file may leave out.
_OF_YARN = {
    "attention_factor": "yarn_attn_factor",
    "beta_fast": "yarn_beta_fast",
    "beta_slow": "yarn_beta_slow",
    "mscale_all_dim": "yarn_log_multiplier",
}


def read_config(file: GgufFile, context: int | None = None) -> Config:
    """For caches of `context` rows, unless told as many as the model was trained for. Raises
    ImportFailure."""
    return _Reader(file, context).config()


class _Reader:
    """Reads the keys of the file's architecture."""

    def __init__(self, file: GgufFile, context: int | None) -> None:
        self._file = file
        self._context = context
        found = file.metadata.get("general.architecture")
        if not isinstance(found, str) or found not in ARCHITECTURES:
            raise ImportFailure(
                f"{file.path}: general.architecture is {found!r:.80}, and none of: "
                f"{', '.join(ARCHITECTURES)}."
            )
        self._name = found
        self._architecture = ARCHITECTURES[found]

    def config(self) -> Config:
        heads, hidden = self._whole("attention.head_count"), self._whole("embedding_length")
        head_size = self._whole("attention.key_length", hidden // max(heads, 1))
        layers, types = self._whole("block_count"), self._architecture.traits.types
        self._refuse("attention.value_length", head_size)
        self._refuse("attention.sliding_window_pattern", len(types))
        self._refuse("expert_count", 0)
        self._refuse("logit_scale", 1.0)
        window = self._whole("attention.sliding_window", 0)
        if window and SLIDING not in types:
            raise ImportFailure("A sliding window in some layers is not supported.")
        vocabulary = self._file.tensors[TABLE].shape[0] if TABLE in self._file.tensors else 0
        by_hidden = layers == self._architecture.by_hidden
        return Config(
            family=self._name,
            traits=self._architecture.traits,
            vocabulary=vocabulary,
            hidden=hidden,
            inner=self._whole("feed_forward_length"),
            layers=layers,
            heads=heads,
            cached_heads=self._whole("attention.head_count_kv", heads),
            head_size=head_size,
            eps=self._number("attention.layer_norm_rms_epsilon"),
            context=self._whole("context_length"),
            tied=HEAD not in self._file.tensors,
            windows=tuple(window if kind == SLIDING else 0 for kind in types),
            rotations=self._rotations(head_size),
            scale=max(hidden // max(heads, 1), 1) ** -0.5 if by_hidden else 0.0,
            score_cap=self._number("attn_logit_softcapping", 0.0),
            logit_cap=self._number("final_logit_softcapping", 0.0),
            by_neighbours=self._architecture.by_neighbours,
        )

    def _rotations(self, head_size: int) -> tuple[Rotation, ...]:
        """Those of layers, again and again."""
        traits = self._architecture.traits
        columns = self._whole("rope.dimension_count", head_size)
        full = self._scaled(self._number("rope.freq_base", 10000.0), columns)
        by_type = {FULL: full, SLIDING: full}
        if traits.local_base is not None:
            local = self._number("rope.freq_base_swa", traits.local_base)
            by_type[SLIDING] = Rotation(".local", plain_frequencies(local, columns))
        if traits.without_rope:
            return every_so_many(full, traits.without_rope)
        return tuple(by_type[kind] for kind in traits.types)

    def _scaled(self, base: float, columns: int) -> Rotation:
        kind = self._file.metadata.get(self._key("rope.scaling.type"), "none")
        if kind not in _SCALINGS:
            raise ImportFailure(
                f"{self._key('rope.scaling.type')} is {kind!r:.80}, and none of: "
                f"{', '.join(_SCALINGS)}."
            )
        if kind == "yarn":
            rotation = self._yarn(base, columns)
        else:
            frequencies = plain_frequencies(base, columns)
            if kind == "linear":
                frequencies = stretched(frequencies, self._number("rope.scaling.factor"))
            rotation = Rotation("", frequencies, self._number("rope.scaling.attn_factor", 1.0))
        frequencies = rotation.frequencies
        for name in (FREQUENCIES, self._of_context()):
            if name in self._file.tensors:
                stored = read_tensor(self._file, name)
                factors = stored.floats() if isinstance(stored, QuantizedMatrix) else stored
                frequencies = divided(frequencies, factors, f"Tensor {name!r}")
        return replace(rotation, frequencies=frequencies)

    def _yarn(self, base: float, columns: int) -> Rotation:
        """Raises ImportFailure for attn_factor, too: converters mean all by which what is turned
        grows, and llama.cpp multiplies that by what it computes itself."""
        self._refuse("rope.scaling.attn_factor", 1.0)
        self._refuse("rope.scaling.yarn_ext_factor", 1.0)
        told = {
            ours: self._number(f"rope.scaling.{theirs}")
            for ours, theirs in _OF_YARN.items()
            if self._key(f"rope.scaling.{theirs}") in self._file.metadata
        }
        lengths = {"factor": self._number("rope.scaling.factor"), ORIGINAL: self._original()}
        return yarn("", base, columns, {"mscale": 1.0, **told, **lengths})

    def _of_context(self) -> str:
        """The name of the factors of contexts as long as the one asked for."""
        trained = self._whole("context_length")
        return LONG if (self._context or trained) > self._original() else SHORT

    def _original(self) -> int:
        """The contexts of the first training."""
        return self._whole("rope.scaling.original_context_length", self._whole("context_length"))

    def _key(self, name: str) -> str:
        return f"{self._name}.{name}"

    def _whole(self, name: str, default: int | None = None) -> int:
        value = self._file.metadata.get(self._key(name), default)
        if type(value) is not int:
            self._wrong(name, value, "a whole number")
        return value

    def _number(self, name: str, default: float | None = None) -> float:
        value = self._file.metadata.get(self._key(name), default)
        if type(value) is int:
            return float(value)
        if type(value) is not float or not np.isfinite(value):
            self._wrong(name, value, "a number")
        return value

    def _refuse(self, name: str, known: float) -> None:
        """Raises ImportFailure unless a key is absent or has the one value that is supported."""
        value = self._file.metadata.get(self._key(name), known)
        if type(value) not in (int, float) or value != known:
            self._wrong(name, value, str(known))

    def _wrong(self, name: str, value: object, wanted: str) -> NoReturn:
        found = "absent" if value is None else f"{value!r:.80}"
        raise ImportFailure(f"{self._file.path}: {self._key(name)} is {found}, and not {wanted}.")
