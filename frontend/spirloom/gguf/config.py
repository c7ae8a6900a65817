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
    RotaryEmbedding,
    default_frequencies,
    divide_by_factors,
    interpolated,
    with_no_rope_layers,
    yarn,
)
from spirloom.family.weights import StoredTensor, floats_of
from spirloom.gguf.blocks import BLOCKS, decode_rows, deferred_rows, type_name
from spirloom.gguf.model import GgufModel
from spirloom.quantized_weights import QuantizedMatrix

_GATE_TENSORS = {"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up"}


@dataclass(frozen=True, slots=True)
class Architecture:
    """Facts about an architecture that its files do not contain.

    `interleaved_rope`: RoPE rotates adjacent columns of Q and K. `hidden_scale_layers`: the model
    with this number of layers scales attention by 1 / sqrt(hidden / heads), not by
    1 / sqrt(head size). `gates`: the tensors of gate and up projection, which may be fused.
    """

    traits: Traits
    interleaved_rope: bool = False
    hidden_scale_layers: int | None = None
    gates: Mapping[str, str] = field(default_factory=lambda: _GATE_TENSORS)


ARCHITECTURES = {
    "llama": Architecture(config.MISTRAL, interleaved_rope=True),  # also Mistral
    "qwen2": Architecture(config.LLAMA),
    "qwen3": Architecture(config.LLAMA),
    "smollm3": Architecture(config.SMOLLM3, interleaved_rope=True),
    "phi3": Architecture(config.MISTRAL, gates={"mlp.gate_up_proj": "ffn_up"}),
    "olmo2": Architecture(config.OLMO2),
    "gemma": Architecture(config.GEMMA),
    "gemma2": Architecture(config.GEMMA2, hidden_scale_layers=46),
    "gemma3": Architecture(config.GEMMA3, hidden_scale_layers=62),
}


TOKEN_EMBEDDING, OUTPUT, ROPE_FACTORS = "token_embd.weight", "output.weight", "rope_freqs.weight"
LONG_ROPE_FACTORS, SHORT_ROPE_FACTORS = "rope_factors_long.weight", "rope_factors_short.weight"

_TENSOR_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
_LAYER_TENSOR_NAMES = {
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.down_proj": "ffn_down",
}
# Pre-norms of attention and MLP, then their post-norms.
_NORM_TENSORS = ("attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm")
_LAYER = re.compile(r"model\.layers\.(\d+)\.(.+)\.(weight|bias)")


class GgufSource:
    """The tensors of a GGUF file by Hugging Face's names."""

    def __init__(self, file: GgufModel, architecture: Architecture) -> None:
        self._file = file
        norms = architecture.traits.pre_norms + architecture.traits.post_norms
        self._layer_tensor_names = {
            **_LAYER_TENSOR_NAMES,
            **architecture.gates,
            **{norm: name for norm, name in zip(norms, _NORM_TENSORS, strict=True) if norm},
        }

    def has(self, name: str) -> bool:
        """Whether the tensor exists."""
        return self.name_in_file(name) in self._file.tensors

    def read(self, name: str) -> StoredTensor:
        """The tensor's floats or quantized matrix. Raises ImportFailure."""
        return read_tensor(self._file, self.name_in_file(name))

    def name_in_file(self, name: str) -> str:
        """The tensor's name in the file."""
        found = _LAYER.fullmatch(name)
        if found is None:
            layer, _, parameter = name.rpartition(".")
            return f"{_TENSOR_NAMES[layer]}.{parameter}"
        return f"blk.{found[1]}.{self._layer_tensor_names.get(found[2], found[2])}.{found[3]}"


def read_tensor(file: GgufModel, name: str) -> StoredTensor:
    """Reads an existing tensor by its name in the file. Raises ImportFailure for unknown types."""
    entry = file.tensors[name]
    if entry.kind not in BLOCKS:
        known = ", ".join(map(type_name, BLOCKS))
        raise ImportFailure(
            f"{file.path}: tensor {name!r} has type {type_name(entry.kind)}; supported are: "
            f"{known}."
        )
    rows = file.rows_of(name)
    if len(entry.shape) == 2:
        return deferred_rows(entry.kind, rows)
    stored = decode_rows(entry.kind, rows)
    floats = stored.floats() if isinstance(stored, QuantizedMatrix) else stored
    return floats.reshape(entry.shape)


# Supported values of `rope.scaling.type`.
_SCALINGS = ("none", "linear", "longrope", "yarn")
# Optional keys of `rope.scaling`, by their names in config.json.
_YARN_KEYS = {
    "attention_factor": "yarn_attn_factor",
    "beta_fast": "yarn_beta_fast",
    "beta_slow": "yarn_beta_slow",
    "mscale_all_dim": "yarn_log_multiplier",
}


def read_config(file: GgufModel, context: int | None = None) -> Config:
    """The configuration for KV caches of `context` rows (default: the training context). Raises
    ImportFailure."""
    return _ConfigReader(file, context).config()


class _ConfigReader:
    """Reads the metadata of the file's architecture."""

    def __init__(self, file: GgufModel, context: int | None) -> None:
        self._file = file
        self._context = context
        found = file.metadata.get("general.architecture")
        if not isinstance(found, str) or found not in ARCHITECTURES:
            raise ImportFailure(
                f"{file.path}: general.architecture is {found!r:.80}; supported are: "
                f"{', '.join(ARCHITECTURES)}."
            )
        self._name = found
        self._architecture = ARCHITECTURES[found]

    def config(self) -> Config:
        heads, hidden = self._int("attention.head_count"), self._int("embedding_length")
        head_size = self._int("attention.key_length", hidden // max(heads, 1))
        layers, types = self._int("block_count"), self._architecture.traits.layer_types
        self._require("attention.value_length", head_size)
        self._require("attention.sliding_window_pattern", len(types))
        self._require("expert_count", 0)
        self._require("logit_scale", 1.0)
        window = self._int("attention.sliding_window", 0)
        if window and SLIDING not in types:
            raise ImportFailure(
                f"{self._file.path}: attention.sliding_window is not supported for "
                f"{self._name!r}, because the file does not list its layers."
            )
        embedding = self._file.tensors.get(TOKEN_EMBEDDING)
        scale_by_hidden = layers == self._architecture.hidden_scale_layers
        return Config(
            family=self._name,
            traits=self._architecture.traits,
            vocab_size=0 if embedding is None else embedding.shape[0],
            hidden_size=hidden,
            intermediate_size=self._int("feed_forward_length"),
            num_layers=layers,
            num_heads=heads,
            kv_heads=self._int("attention.head_count_kv", heads),
            head_size=head_size,
            rms_norm_eps=self._float("attention.layer_norm_rms_epsilon"),
            context=self._int("context_length"),
            tied_embeddings=OUTPUT not in self._file.tensors,
            windows=tuple(window if kind == SLIDING else 0 for kind in types),
            rotations=self._rotations(head_size),
            attn_scale=max(hidden // max(heads, 1), 1) ** -0.5 if scale_by_hidden else 0.0,
            attn_softcap=self._float("attn_logit_softcapping", 0.0),
            logit_softcap=self._float("final_logit_softcapping", 0.0),
            interleaved_rope=self._architecture.interleaved_rope,
        )

    def _rotations(self, head_size: int) -> tuple[RotaryEmbedding, ...]:
        """The repeating pattern of RoPE over the layers."""
        traits = self._architecture.traits
        columns = self._int("rope.dimension_count", head_size)
        full = self._scaled(self._float("rope.freq_base", 10000.0), columns)
        by_type = {FULL: full, SLIDING: full}
        if traits.local_rope_base is not None:
            local = self._float("rope.freq_base_swa", traits.local_rope_base)
            by_type[SLIDING] = RotaryEmbedding(".local", default_frequencies(local, columns))
        if traits.no_rope_interval:
            return with_no_rope_layers(full, traits.no_rope_interval)
        return tuple(by_type[kind] for kind in traits.layer_types)

    def _scaled(self, base: float, columns: int) -> RotaryEmbedding:
        kind = self._file.metadata.get(self._key("rope.scaling.type"), "none")
        if kind not in _SCALINGS:
            raise ImportFailure(
                f"{self._file.path}: {self._key('rope.scaling.type')} is {kind!r:.80}; supported "
                f"are: {', '.join(_SCALINGS)}."
            )
        if kind == "yarn":
            rotation = self._yarn(base, columns)
        else:
            frequencies = default_frequencies(base, columns)
            if kind == "linear":
                frequencies = interpolated(frequencies, self._float("rope.scaling.factor"))
            attention_factor = self._float("rope.scaling.attn_factor", 1.0)
            rotation = RotaryEmbedding("", frequencies, attention_factor)
        frequencies = rotation.frequencies
        for name in (ROPE_FACTORS, self._context_factors()):
            if name in self._file.tensors:
                factors = floats_of(read_tensor(self._file, name))
                frequencies = divide_by_factors(frequencies, factors, f"Tensor {name!r}")
        return replace(rotation, frequencies=frequencies)

    def _yarn(self, base: float, columns: int) -> RotaryEmbedding:
        """Raises ImportFailure also for attn_factor: converters store the complete factor there,
        while llama.cpp multiplies it by the factor that it computes."""
        self._require("rope.scaling.attn_factor", 1.0)
        self._require("rope.scaling.yarn_ext_factor", 1.0)
        optional = {
            hf_key: self._float(f"rope.scaling.{gguf_key}")
            for hf_key, gguf_key in _YARN_KEYS.items()
            if self._key(f"rope.scaling.{gguf_key}") in self._file.metadata
        }
        lengths = {"factor": self._float("rope.scaling.factor"), ORIGINAL: self._original_context()}
        return yarn("", base, columns, {"mscale": 1.0, **optional, **lengths})

    def _context_factors(self) -> str:
        """The name of the LongRoPE factors for the requested context."""
        trained = self._int("context_length")
        is_long = (self._context or trained) > self._original_context()
        return LONG_ROPE_FACTORS if is_long else SHORT_ROPE_FACTORS

    def _original_context(self) -> int:
        """The training context before context extension."""
        return self._int("rope.scaling.original_context_length", self._int("context_length"))

    def _key(self, name: str) -> str:
        return f"{self._name}.{name}"

    def _int(self, name: str, default: int | None = None) -> int:
        value = self._file.metadata.get(self._key(name), default)
        if type(value) is not int:
            self._fail(name, value, "an integer")
        return value

    def _float(self, name: str, default: float | None = None) -> float:
        value = self._file.metadata.get(self._key(name), default)
        if type(value) is int:
            return float(value)
        if type(value) is not float or not np.isfinite(value):
            self._fail(name, value, "a finite number")
        return value

    def _require(self, name: str, known: float) -> None:
        """Raises ImportFailure unless a key is absent or has the only supported value."""
        value = self._file.metadata.get(self._key(name), known)
        if type(value) not in (int, float) or value != known:
            self._fail(name, value, str(known))

    def _fail(self, name: str, value: object, expected: str) -> NoReturn:
        found = "absent" if value is None else f"{value!r:.80}"
        raise ImportFailure(
            f"{self._file.path}: {self._key(name)} is {found}; expected {expected}."
        )
