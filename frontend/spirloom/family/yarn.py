"""YaRN: of rotary embeddings long waves are stretched, short ones stay, and all of them grow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.family.rotation import Rotation, plain_frequencies, stretched
from spirloom.ir import Array

# What `rope` names the contexts of the first training.
ORIGINAL = "original_max_position_embeddings"


def yarn(name: str, base: float, columns: int, rope: Mapping[str, Any]) -> Rotation:
    """Of positions that turn so many columns; `rope` has the keys of config.json, which mean what
    they do in transformers. Raises ImportFailure."""
    plain, factor = plain_frequencies(base, columns), _number(rope, "factor", least=1)
    part = _stretched_part(base, columns, rope)
    frequencies = (1 - part) * plain + part * stretched(plain, factor)
    return Rotation(name, frequencies, _grown(rope, factor))


def _stretched_part(base: float, columns: int, rope: Mapping[str, Any]) -> Array:
    """Of each pair: 0 up to the one that turns `beta_fast` times in the contexts of the first
    training, 1 from the one on that turns `beta_slow` times."""
    if base <= 1:
        raise ImportFailure(f"The base of rotary embeddings, {base}, is not above 1: YaRN's is.")
    original = _number(rope, ORIGINAL, least=1)
    fast, slow = _number(rope, "beta_fast", 0, 32), _number(rope, "beta_slow", 0, 1)
    if not 0 < slow <= fast:
        raise ImportFailure(
            f"YaRN's beta_slow, {slow}, is not above 0 and at most beta_fast, {fast}."
        )
    low, high = (
        columns * (math.log(original) - math.log(2 * math.pi * turns)) / (2 * math.log(base))
        for turns in (fast, slow)
    )
    if rope.get("truncate", True):
        low, high = np.floor(low), np.ceil(high)
    low, high = max(low, 0), min(high, columns - 1)
    high += 0.001 if low == high else 0
    pairs = np.arange((columns + 1) // 2)
    return np.asarray(np.clip((pairs - low) / (high - low), 0, 1))


def _grown(rope: Mapping[str, Any], factor: float) -> float:
    """What cosines and sines are multiplied by."""
    stated = rope.get("attention_factor")
    if stated is not None:
        return float(stated)
    one, all_columns = _number(rope, "mscale", 0, 0), _number(rope, "mscale_all_dim", 0, 0)
    if one and all_columns:
        return (1 + 0.1 * one * math.log(factor)) / (1 + 0.1 * all_columns * math.log(factor))
    return 1 + 0.1 * math.log(factor)


def _number(rope: Mapping[str, Any], key: str, least: float, default: float = math.nan) -> float:
    value = float(default if rope.get(key) is None else rope[key])
    if not value >= least:
        raise ImportFailure(f"YaRN's {key}, {value}, is not {least} or above.")
    return value
