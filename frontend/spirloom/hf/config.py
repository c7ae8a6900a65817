"""Reads `config.json` of a Hugging Face model: sizes, supported model types, rotary embeddings."""

from __future__ import annotations

import json
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
    Rotation,
    divided,
    every_so_many,
    plain_frequencies,
    scaled_as_llama3,
    stretched,
    yarn,
)
from spirloom.ir import Array

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
    "glm": ModelType(config.LLAMA, defaults=_OF_GLM, by_neighbours=True),
    "glm4": ModelType(config.GLM4, defaults=_OF_GLM, by_neighbours=True),
    # "gelu" is what the first files say, and mean the other one.
    "gemma": ModelType(config.GEMMA, (_TANH, "gelu"), 1.0, _OF_GEMMA),
    "gemma2": ModelType(
        config.GEMMA2,
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
        config.GEMMA3,
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


_MAX_LAYERS = 1 << 16
_LONG = ("longrope", "su")


def rotations_of(
    given: Mapping[str, Any], traits: Traits, types: tuple[str, ...], head_size: int, context: int
) -> tuple[Rotation, ...]:
    """Those of layers, again and again, for caches of `context` rows. Raises ImportFailure."""
    rope = {**(given.get("rope_scaling") or {}), **(given.get("rope_parameters") or {})}
    base = given.get("rope_theta", 10000.0)
    of_all = {"rope_theta": base, **(rope.get(FULL) or rope)}
    full = _rotation("", of_all, given, head_size, context)
    by_type = {FULL: full, SLIDING: full}
    local = given.get("rope_local_base_freq", traits.local_base)
    if local is not None or rope.get(SLIDING):
        own = {"rope_theta": base if local is None else local, **(rope.get(SLIDING) or {})}
        by_type[SLIDING] = _rotation(".local", own, given, head_size, context)
    found = tuple(by_type[kind] for kind in types)
    if traits.without_rope:
        return _but_without_rope(given, traits, found)
    return found


def _but_without_rope(
    given: Mapping[str, Any], traits: Traits, rotations: tuple[Rotation, ...]
) -> tuple[Rotation, ...]:
    turned, layers = given.get("no_rope_layers"), int(given["num_hidden_layers"])
    if turned:  # by layer, whether it is
        if len(turned) < layers:
            raise ImportFailure(
                f"no_rope_layers tells of {len(turned)} layers, and the model has {layers}."
            )
        return tuple(rotations[0] if each else NO_ROPE for each in turned)
    key = "no_rope_layer_interval"
    return every_so_many(rotations[0], period(key, given.get(key, traits.without_rope)))


def period(key: str, told: Any) -> int:
    """After how many layers a pattern begins again. Raises ImportFailure."""
    found = int(told)
    if not 1 <= found <= _MAX_LAYERS:
        raise ImportFailure(f"{key}, {found}, is not in 1 … {_MAX_LAYERS}.")
    return found


def _rotation(
    name: str, rope: Mapping[str, Any], given: Mapping[str, Any], head_size: int, context: int
) -> Rotation:
    kind = rope.get("rope_type", rope.get("type", "default"))
    part = float(rope.get("partial_rotary_factor", given.get("partial_rotary_factor", 1.0)))
    base, columns = float(rope["rope_theta"]), int(head_size * part)
    if kind == "yarn":
        original, longer = _lengths(rope, given)
        return yarn(name, base, columns, {**rope, ORIGINAL: original, "factor": longer})
    frequencies = plain_frequencies(base, columns)
    if kind in _LONG:
        return _long(name, frequencies, rope, given, context)
    if kind == "llama3":
        frequencies = scaled_as_llama3(frequencies, rope)
    elif kind == "linear":
        frequencies = stretched(frequencies, float(rope["factor"]))
    elif kind != "default":
        raise ImportFailure(f"Rotary embeddings of type {kind!r} are not supported.")
    return Rotation(name, frequencies)


def _lengths(rope: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[int, float]:
    """Of contexts in the first training, and how many times as long they have become."""
    most = int(given["max_position_embeddings"])
    original = int(given.get(ORIGINAL) or rope.get(ORIGINAL) or most)
    return original, float(rope.get("factor") or most / original)


def _long(
    name: str, frequencies: Array, rope: Mapping[str, Any], given: Mapping[str, Any], context: int
) -> Rotation:
    """Factors for each pair: of contexts beyond the first training's other ones."""
    original, longer = _lengths(rope, given)
    key = "long_factor" if context > original else "short_factor"
    factors = np.asarray(rope[key], np.float64)
    grown = 1.0 if longer <= 1 else math.sqrt(1 + math.log(longer) / math.log(original))
    stated = rope.get("attention_factor")
    grown = grown if stated is None else float(stated)
    return Rotation(name, divided(frequencies, factors, key), grown)


def read_config(path: Path, context: int | None = None) -> Config:
    """For caches of `context` rows, unless told as many as the model was trained for.

    Raises ImportFailure for a file that cannot be read, and for another family.
    """
    try:
        return _config(json.loads(path.read_text(encoding="utf-8")), context)
    except FileNotFoundError as error:
        raise ImportFailure(
            f"Cannot read {path.parent}: a folder of a language model has config.json."
        ) from error
    except (OSError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise ImportFailure(f"Cannot read {path}: {error}.") from error
    except KeyError as error:
        raise ImportFailure(f"{path} does not tell {error}.") from error


def _config(told: Mapping[str, Any], context: int | None) -> Config:
    family = told["model_type"]
    if family not in MODEL_TYPES:
        raise ImportFailure(f"The family {family!r} is not one of: {', '.join(MODEL_TYPES)}.")
    model_type = MODEL_TYPES[family]
    given = {**model_type.defaults, **told}
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
        vocabulary=int(given["vocab_size"]),
        hidden=hidden,
        inner=int(given["intermediate_size"]),
        layers=layers,
        heads=heads,
        cached_heads=int(given.get("num_key_value_heads") or heads),
        head_size=head_size,
        eps=float(given["rms_norm_eps"]),
        context=trained,
        tied=bool(given.get("tie_word_embeddings", False)),
        windows=tuple(window if kind == SLIDING else 0 for kind in types),
        rotations=rotations_of(given, model_type.traits, types, head_size, context or trained),
        scale=0.0 if multiplier is None else 1 / _root(multiplier),
        score_cap=float(given.get("attn_logit_softcapping") or 0),
        logit_cap=float(given.get("final_logit_softcapping") or 0),
        norm_offset=model_type.norm_offset,
        by_neighbours=model_type.by_neighbours,
    )


def _check(given: Mapping[str, Any], model_type: ModelType) -> None:
    """Raises ImportFailure for what a model of the family may be, and is not supported."""
    known = model_type.activations
    activation = given.get("hidden_activation") or given.get("hidden_act") or known[0]
    if activation not in known:
        raise ImportFailure(f"The activation {activation!r} is not {' or '.join(known)}.")
    if given.get("use_bidirectional_attention"):
        raise ImportFailure("Attention to what comes later is not supported.")
    if given.get("use_sliding_window") and "layer_types" not in given:
        raise ImportFailure("A sliding window in some layers needs layer_types, which say which.")


def _types(given: Mapping[str, Any], traits: Traits, layers: int) -> tuple[str, ...]:
    """Those of layers, again and again."""
    told = given.get("layer_types")
    if told is None:
        return _pattern(given, traits)
    unknown = [kind for kind in told if kind not in (FULL, SLIDING)]
    if unknown:
        raise ImportFailure(f"Layers of type {unknown[0]!r} are not supported.")
    if len(told) != layers:
        raise ImportFailure(f"layer_types tells of {len(told)} layers, and the model has {layers}.")
    return tuple(told)


def _pattern(given: Mapping[str, Any], traits: Traits) -> tuple[str, ...]:
    """The family's, unless the model has its own count of those that slide."""
    key = "sliding_window_pattern"
    if given.get(key) is None:
        return traits.types
    return (*[SLIDING] * (period(key, given[key]) - 1), FULL)


def _root(number: Any) -> float:
    if not float(number) > 0:
        raise ImportFailure(f"query_pre_attn_scalar, {number}, is not above 0.")
    return float(float(number) ** 0.5)
