"""What `config.json` says of a model of the Llama family."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spirloom.errors import ImportFailure
from spirloom.family.config import Config, plain_frequencies, scaled_as_llama3
from spirloom.ir import Array

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")


def read_config(path: Path) -> Config:
    """Raises ImportFailure for a file that cannot be read, and for another family."""
    try:
        return _config(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise ImportFailure(
            f"Cannot read {path.parent}: a folder of a language model has config.json."
        ) from error
    except (OSError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise ImportFailure(f"Cannot read {path}: {error}.") from error
    except KeyError as error:
        raise ImportFailure(f"{path} does not tell {error}.") from error


def _config(given: Mapping[str, Any]) -> Config:
    family = given["model_type"]
    if family not in FAMILIES:
        raise ImportFailure(f"The family {family!r} is not one of: {', '.join(FAMILIES)}.")
    activation = given.get("hidden_act", "silu")
    if activation != "silu":
        raise ImportFailure(f"The activation {activation!r} is not silu.")
    heads, hidden = int(given["num_attention_heads"]), int(given["hidden_size"])
    windowed = family == "mistral" or given.get("use_sliding_window", False)
    if windowed and family != "mistral":
        raise ImportFailure("A sliding window in some layers is not supported.")
    rope = {**(given.get("rope_scaling") or {}), **(given.get("rope_parameters") or {})}
    rope.setdefault("rope_theta", given.get("rope_theta", 10000.0))
    head_size = int(given.get("head_dim") or hidden // heads)
    return Config(
        family=family,
        vocabulary=int(given["vocab_size"]),
        hidden=hidden,
        inner=int(given["intermediate_size"]),
        layers=int(given["num_hidden_layers"]),
        heads=heads,
        cached_heads=int(given.get("num_key_value_heads") or heads),
        head_size=head_size,
        eps=float(given["rms_norm_eps"]),
        context=int(given["max_position_embeddings"]),
        window=int(given.get("sliding_window") or 0) if windowed else 0,
        tied=bool(given.get("tie_word_embeddings", False)),
        frequencies=_frequencies(rope, head_size),
    )


def _frequencies(rope: Mapping[str, Any], head_size: int) -> Array:
    kind = rope.get("rope_type", rope.get("type", "default"))
    frequencies = plain_frequencies(float(rope["rope_theta"]), head_size)
    if kind == "llama3":
        return scaled_as_llama3(frequencies, rope)
    if kind == "linear":
        return frequencies / float(rope["factor"])
    if kind != "default":
        raise ImportFailure(f"Rotary embeddings of type {kind!r} are not supported.")
    return frequencies
