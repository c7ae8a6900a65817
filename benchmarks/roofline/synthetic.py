"""Synthetic weights of language models, and their configurations."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from spirloom.family.weights import StoredTensor
from spirloom.ir import Array
from spirloom.quantized_weights import QuantizedMatrix

PROMPT = 512
GROUP = 32
# Bytes of a buffer binding that most GPUs support, as with `spirloom import --max-binding 1024`.
MAX_BINDING = 1 << 30
# Odd, so that neighboring rows differ.
PERIOD = 65521

LLAMA_1B: Mapping[str, Any] = {
    "model_type": "llama",
    "vocab_size": 128256,
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "max_position_embeddings": 1024,
    "tie_word_embeddings": True,
}


class Repeating:
    """A source of synthetic weights for a config: a repeated period of noise, with an offset that
    depends on the tensor's name."""

    def __init__(self, config: Mapping[str, Any], is_int4: bool) -> None:
        self._sizes = _sizes(config)
        self._is_int4 = is_int4
        random = np.random.default_rng(0)
        self._floats = random.uniform(-1, 1, PERIOD).astype(np.float16)
        self._int4_values = random.integers(-8, 8, PERIOD, dtype=np.int8)

    def has(self, name: str) -> bool:
        """Whether the model has such a tensor."""
        return self._shape(name) != ()

    def name_in_file(self, name: str) -> str:
        """Its name."""
        return name

    def read(self, name: str) -> StoredTensor:
        """Random weights that preserve the magnitude of activations."""
        shape = self._shape(name)
        if len(shape) == 1:
            return np.ones(shape, np.float16)
        rows, depth = shape
        scale = np.float16(np.sqrt(3 / depth))
        if not self._is_int4:
            return _repeated(self._floats * scale, name, shape)
        scales = np.full((rows, depth // GROUP), scale / np.float16(8), np.float32)
        return QuantizedMatrix.of(_repeated(self._int4_values, name, shape), scales, None)

    def _shape(self, name: str) -> tuple[int, ...]:
        layer = name.removesuffix(".weight").rpartition(".")[2]
        return self._sizes.get(layer, ())


def _sizes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The shapes of weights, by the last component of their names."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    queries = config["num_attention_heads"] * config["head_dim"]
    keys = config["num_key_value_heads"] * config["head_dim"]
    norms = ("input_layernorm", "post_attention_layernorm", "norm")
    return {
        "embed_tokens": (config["vocab_size"], hidden),
        "q_proj": (queries, hidden),
        "k_proj": (keys, hidden),
        "v_proj": (keys, hidden),
        "o_proj": (hidden, queries),
        "gate_proj": (inner, hidden),
        "up_proj": (inner, hidden),
        "down_proj": (hidden, inner),
        **dict.fromkeys(norms, (hidden,)),
    }


def _repeated(period: Array, name: str, shape: tuple[int, ...]) -> Array:
    return np.resize(np.roll(period, zlib.crc32(name.encode()) % PERIOD), shape)
