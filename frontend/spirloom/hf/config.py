"""Reads `config.json` of a Hugging Face model: sizes, supported model types, rotary embeddings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.family import config
from spirloom.family.config import FULL, SLIDING, Config, Traits
from spirloom.family.rope import (
    NO_ROPE,
    ORIGINAL,
    RotaryEmbedding,
    default_frequencies,
    divide_by_factors,
    interpolated,
    llama3_frequencies,
    with_no_rope_layers,
    yarn,
)
from spirloom.hf.json_files import parse_object, read_bytes
from spirloom.ir import Array

_TANH = "gelu_pytorch_tanh"
_GLM_DEFAULTS: Mapping[str, Any] = {"head_dim": 128, "partial_rotary_factor": 0.5}
_GEMMA_DEFAULTS: Mapping[str, Any] = {"head_dim": 256, "tie_word_embeddings": True}


@dataclass(frozen=True, slots=True)
class ModelType:
    """A supported `model_type` of config.json.

    `activations`: accepted names of the traits' activation. `defaults`: values of keys that
    config.json omits. `norm_offset` and `interleaved_rope`: as in Config.
    """

    traits: Traits
    activations: tuple[str, ...] = ("silu",)
    norm_offset: float = 0.0
    defaults: Mapping[str, Any] = field(default_factory=dict)
    interleaved_rope: bool = False


MODEL_TYPES = {
    "llama": ModelType(config.LLAMA),
    "mistral": ModelType(config.MISTRAL, defaults={"sliding_window": 4096}),
    "ministral": ModelType(config.MISTRAL, defaults={"sliding_window": 4096}),
    "qwen2": ModelType(config.LLAMA, defaults={"use_sliding_window": False}),
    "qwen3": ModelType(config.LLAMA, defaults={"use_sliding_window": False, "head_dim": 128}),
    "smollm3": ModelType(
        config.SMOLLM3,
        defaults={
            "use_sliding_window": False,
            "rope_theta": 2000000.0,
            "tie_word_embeddings": True,
        },
    ),
    "phi3": ModelType(config.MISTRAL, defaults={"original_max_position_embeddings": 4096}),
    "olmo2": ModelType(config.OLMO2),
    "glm": ModelType(config.LLAMA, defaults=_GLM_DEFAULTS, interleaved_rope=True),
    "glm4": ModelType(config.GLM4, defaults=_GLM_DEFAULTS, interleaved_rope=True),
    # The first files have "gelu", which means gelu_pytorch_tanh there.
    "gemma": ModelType(config.GEMMA, (_TANH, "gelu"), 1.0, _GEMMA_DEFAULTS),
    "gemma2": ModelType(
        config.GEMMA2,
        (_TANH,),
        1.0,
        {
            **_GEMMA_DEFAULTS,
            "query_pre_attn_scalar": 256,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
            "sliding_window": 4096,
        },
    ),
    "gemma3_text": ModelType(
        config.GEMMA3,
        (_TANH,),
        1.0,
        {
            **_GEMMA_DEFAULTS,
            "query_pre_attn_scalar": 256,
            "sliding_window": 4096,
            "rope_theta": 1000000.0,
        },
    ),
}


_MAX_LAYERS = 1 << 16
_LONG = ("longrope", "su")


def rotations_of(
    given: Mapping[str, Any], traits: Traits, types: tuple[str, ...], head_size: int, context: int
) -> tuple[RotaryEmbedding, ...]:
    """The repeating pattern of RoPE over the layers, for KV caches of `context` rows. Raises
    ImportFailure."""
    rope = {**(given.get("rope_scaling") or {}), **(given.get("rope_parameters") or {})}
    base = given.get("rope_theta", 10000.0)
    full = _rotation(
        "", {"rope_theta": base, **(rope.get(FULL) or rope)}, given, head_size, context
    )
    by_type = {FULL: full, SLIDING: full}
    local = given.get("rope_local_base_freq", traits.local_rope_base)
    if local is not None or rope.get(SLIDING):
        own = {"rope_theta": base if local is None else local, **(rope.get(SLIDING) or {})}
        by_type[SLIDING] = _rotation(".local", own, given, head_size, context)
    found = tuple(by_type[kind] for kind in types)
    if traits.no_rope_interval:
        return _with_no_rope_layers(given, traits, found)
    return found


def _with_no_rope_layers(
    given: Mapping[str, Any], traits: Traits, rotations: tuple[RotaryEmbedding, ...]
) -> tuple[RotaryEmbedding, ...]:
    has_rope, layers = given.get("no_rope_layers"), int(given["num_hidden_layers"])
    if has_rope:  # 1 for a layer with RoPE, despite the key's name
        if len(has_rope) < layers:
            raise ImportFailure(
                f"no_rope_layers has {len(has_rope)} entries, but the model has {layers} layers."
            )
        return tuple(rotations[0] if each else NO_ROPE for each in has_rope)
    key = "no_rope_layer_interval"
    return with_no_rope_layers(rotations[0], period(key, given.get(key, traits.no_rope_interval)))


def period(key: str, value: Any) -> int:
    """The period of a pattern over the layers. Raises ImportFailure."""
    found = int(value)
    if not 1 <= found <= _MAX_LAYERS:
        raise ImportFailure(f"{key}, {found}, is not in 1 … {_MAX_LAYERS}.")
    return found


def _rotation(
    name: str, rope: Mapping[str, Any], given: Mapping[str, Any], head_size: int, context: int
) -> RotaryEmbedding:
    kind = rope.get("rope_type", rope.get("type", "default"))
    part = float(rope.get("partial_rotary_factor", given.get("partial_rotary_factor", 1.0)))
    base, columns = float(rope["rope_theta"]), int(head_size * part)
    if kind == "yarn":
        original, factor = _context_extension(rope, given)
        return yarn(name, base, columns, {**rope, ORIGINAL: original, "factor": factor})
    frequencies = default_frequencies(base, columns)
    if kind in _LONG:
        return _longrope(name, frequencies, rope, given, context)
    if kind == "llama3":
        frequencies = llama3_frequencies(frequencies, rope)
    elif kind == "linear":
        frequencies = interpolated(frequencies, float(rope["factor"]))
    elif kind != "default":
        raise ImportFailure(f"The rope_type {kind!r} is not supported.")
    return RotaryEmbedding(name, frequencies)


def _context_extension(rope: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[int, float]:
    """The training context before context extension, and the factor of the extension."""
    extended = int(given["max_position_embeddings"])
    original = int(given.get(ORIGINAL) or rope.get(ORIGINAL) or extended)
    return original, float(rope.get("factor") or extended / original)


def _longrope(
    name: str, frequencies: Array, rope: Mapping[str, Any], given: Mapping[str, Any], context: int
) -> RotaryEmbedding:
    """LongRoPE: a factor per pair, from one list up to the original context, another beyond."""
    original, extension = _context_extension(rope, given)
    key = "long_factor" if context > original else "short_factor"
    factors = np.asarray(rope[key], np.float64)
    computed = 1.0 if extension <= 1 else math.sqrt(1 + math.log(extension) / math.log(original))
    stated = rope.get("attention_factor")
    attention_factor = computed if stated is None else float(stated)
    return RotaryEmbedding(name, divide_by_factors(frequencies, factors, key), attention_factor)


def read_config(path: Path, context: int | None = None) -> Config:
    """The configuration for KV caches of `context` rows (default: the training context).

    Raises ImportFailure for an invalid file and for an unsupported family.
    """
    if not path.exists():
        raise ImportFailure(f"Cannot read {path.parent}: the directory has no config.json.")
    content = parse_object(read_bytes(path), str(path))
    try:
        return _config(content, context)
    except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise ImportFailure(f"Cannot read {path}: {error}.") from error
    except KeyError as error:
        raise ImportFailure(f"{path} has no key {error}.") from error


def _config(content: Mapping[str, Any], context: int | None) -> Config:
    family = content["model_type"]
    if family not in MODEL_TYPES:
        raise ImportFailure(f"The model_type {family!r} is not one of: {', '.join(MODEL_TYPES)}.")
    model_type = MODEL_TYPES[family]
    given = {**model_type.defaults, **content}
    _check(given, model_type)
    heads, hidden = int(given["num_attention_heads"]), int(given["hidden_size"])
    layers, trained = int(given["num_hidden_layers"]), int(given["max_position_embeddings"])
    head_size = int(given.get("head_dim") or hidden // heads)
    types = _types(given, model_type.traits, layers)
    window = int(given.get("sliding_window") or 0) if given.get("use_sliding_window", True) else 0
    multiplier = given.get("query_pre_attn_scalar")
    return Config(
        family=family,
        traits=model_type.traits,
        vocab_size=int(given["vocab_size"]),
        hidden_size=hidden,
        intermediate_size=int(given["intermediate_size"]),
        num_layers=layers,
        num_heads=heads,
        kv_heads=int(given.get("num_key_value_heads") or heads),
        head_size=head_size,
        rms_norm_eps=float(given["rms_norm_eps"]),
        context=trained,
        tied_embeddings=bool(given.get("tie_word_embeddings", False)),
        windows=tuple(window if kind == SLIDING else 0 for kind in types),
        rotations=rotations_of(given, model_type.traits, types, head_size, context or trained),
        attn_scale=0.0 if multiplier is None else 1 / _root(multiplier),
        attn_softcap=float(given.get("attn_logit_softcapping") or 0),
        logit_softcap=float(given.get("final_logit_softcapping") or 0),
        norm_offset=model_type.norm_offset,
        interleaved_rope=model_type.interleaved_rope,
    )


def _check(given: Mapping[str, Any], model_type: ModelType) -> None:
    """Raises ImportFailure for unsupported options of the family."""
    known = model_type.activations
    activation = given.get("hidden_activation") or given.get("hidden_act") or known[0]
    if activation not in known:
        raise ImportFailure(f"The activation {activation!r} is not {' or '.join(known)}.")
    if given.get("use_bidirectional_attention"):
        raise ImportFailure("use_bidirectional_attention is not supported.")
    if given.get("use_sliding_window") and "layer_types" not in given:
        raise ImportFailure("use_sliding_window requires layer_types, which is missing.")


def _types(given: Mapping[str, Any], traits: Traits, layers: int) -> tuple[str, ...]:
    """The repeating pattern of layer types."""
    stated = given.get("layer_types")
    if stated is None:
        return _pattern(given, traits)
    unknown = [kind for kind in stated if kind not in (FULL, SLIDING)]
    if unknown:
        raise ImportFailure(f"The layer type {unknown[0]!r} is not {FULL} or {SLIDING}.")
    if len(stated) != layers:
        raise ImportFailure(
            f"layer_types has {len(stated)} entries, but the model has {layers} layers."
        )
    return tuple(stated)


def _pattern(given: Mapping[str, Any], traits: Traits) -> tuple[str, ...]:
    """The family's pattern, unless config.json has its own period."""
    key = "sliding_window_pattern"
    if given.get(key) is None:
        return traits.layer_types
    return (*[SLIDING] * (period(key, given[key]) - 1), FULL)


def _root(value: Any) -> float:
    if not float(value) > 0:
        raise ImportFailure(f"query_pre_attn_scalar, {value}, is not above 0.")
    return float(float(value) ** 0.5)
