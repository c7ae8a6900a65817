"""What `config.json` says of a model like Llama."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spirloom.errors import ImportFailure
from spirloom.family.config import Config
from spirloom.family.traits import FULL, SLIDING, Traits
from spirloom.hf.model_types import MODEL_TYPES, ModelType
from spirloom.hf.rope import period, rotations_of


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
