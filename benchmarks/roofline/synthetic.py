"""The language models of the GPU benchmark: real shapes, synthetic weights that compress well."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from spirloom import graph_file
from spirloom.family import RearrangedSource, Weights, make_methods
from spirloom.family.text_metadata import TEXT_METADATA, TOKENIZER
from spirloom.family.weights import StoredTensor
from spirloom.hf.config import read_config
from spirloom.ir import Array, DType
from spirloom.ops import OpLibrary
from spirloom.passes.weight_quantization import Quantization
from spirloom.quantized_weights import QuantizedMatrix

from examples.story.tokenizer import byte_symbols

PROMPT = 512
GROUP = 32
# Bytes of a buffer binding that most GPUs support, as with `spirloom import --max-binding 1024`.
MAX_BINDING = 1 << 30
# Odd, so that neighboring rows differ; small, so that the archive compresses the repetitions.
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


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A model by its config.json. Its files are named NAME-WEIGHTS.slg, where WEIGHTS is `f16`,
    `int4` (groups of 32), or `bf16` (activations in float32)."""

    name: str
    config: Mapping[str, Any] = field(default_factory=lambda: LLAMA_1B)
    weights: tuple[str, ...] = ("f16", "int4", "bf16")


LANGUAGE_MODELS = (LanguageModel("llama_3.2_1b"),)


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


def write_language_model(model: LanguageModel, folder: Path) -> None:
    """Writes a graph file per weight type, with a tokenizer that has one token per byte."""
    folder.mkdir(exist_ok=True)
    config_file = folder / "config.json"
    config_file.write_text(json.dumps(model.config), encoding="utf-8")
    config = read_config(config_file)
    config_file.unlink()
    attachments = {
        TOKENIZER: json.dumps(_tokenizer(config.vocab_size)).encode(),
        TEXT_METADATA: json.dumps({"eos": [], "bos": None, "add_bos": False}).encode(),
    }
    for kind in model.weights:
        source = Repeating(model.config, kind == "int4")
        how = Quantization.of("bf16") if kind == "bf16" else None
        dtype = DType.F16 if how is None else DType.F32
        weights = Weights(RearrangedSource(source, config), dtype, how)
        methods = make_methods(config, weights, OpLibrary(), "a bench", None, PROMPT, MAX_BINDING)
        methods[0].attachments = attachments
        graph_file.save(methods, folder / f"{model.name}-{kind}.slg")


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


def _tokenizer(size: int) -> dict[str, Any]:
    """A tokenizer.json with a token per byte and placeholder tokens up to `size`."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    names = [*byte_symbols(), *(f"<{token}>" for token in range(256, size))]
    vocabulary = {name: token for token, name in enumerate(names)}
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {**level, "use_regex": True},
        "post_processor": None,
        "decoder": {**level, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }
