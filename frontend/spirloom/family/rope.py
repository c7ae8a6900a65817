"""Rotary position embeddings (RoPE): frequencies per position, with YaRN and other scalings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.ir import Array

_MAX_COLUMNS = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Rotation:
    """`frequencies`, float64, are the angles by which one position more turns the first pairs of
    columns, which grow by `factor`; the pairs beyond stay as they are. `name` ends those of its
    tables. Raises ImportFailure for angles that are not finite.
    """

    name: str
    frequencies: Array
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.frequencies)) or not np.isfinite(self.factor):
            raise ImportFailure("The frequencies of rotary embeddings are not all finite.")

    def tables(self, context: int, pairs: int) -> tuple[Array, Array]:
        """What cosines and sines multiply at each position, float32 [context, pairs]."""
        angles = np.arange(context)[:, None] * self.frequencies.astype(np.float32)
        rest = ((0, 0), (0, pairs - len(self.frequencies)))
        cos, sin = self.factor * np.cos(angles), self.factor * np.sin(angles)
        return (
            np.pad(cos.astype(np.float32), rest, constant_values=1.0),
            np.pad(sin.astype(np.float32), rest),
        )


NO_ROPE = Rotation(".unturned", np.zeros(0))


def plain_frequencies(base: float, columns: int) -> Array:
    """Those of a model whose positions are not scaled and turn so many columns of a head."""
    if not np.isfinite(base) or base <= 0:
        raise ImportFailure(f"The base of rotary embeddings, {base}, is not above 0.")
    if not 2 <= columns <= _MAX_COLUMNS:
        raise ImportFailure(f"A head of {columns} columns is not one of 2 … {_MAX_COLUMNS}.")
    return np.asarray(base ** -(np.arange(0, columns, 2, dtype=np.float64) / columns))


def stretched(frequencies: Array, factor: float) -> Array:
    """Those of positions that are so many times as near."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # a Rotation refuses them
        return frequencies / np.float64(factor)


def scaled_as_llama3(frequencies: Array, rope: Mapping[str, Any]) -> Array:
    """Long waves are stretched, short ones stay, those between are both in part."""
    factor, original = float(rope["factor"]), float(rope["original_max_position_embeddings"])
    low, high = float(rope["low_freq_factor"]), float(rope["high_freq_factor"])
    waves = 2 * np.pi / frequencies
    part = np.clip((original / waves - low) / (high - low), 0, 1)
    return np.asarray((1 - part) * frequencies / factor + part * frequencies)


def divided(frequencies: Array, factors: Array, called: str) -> Array:
    """By a factor each, of which the model calls the list so. Raises ImportFailure."""
    if factors.shape != frequencies.shape or not np.all(np.isfinite(factors) & (factors > 0)):
        raise ImportFailure(
            f"{called} is {list(factors.shape)}, and holds numbers above 0 for "
            f"{list(frequencies.shape)} pairs of columns."
        )
    return frequencies / factors.astype(np.float64)


def every_so_many(rotation: Rotation, count: int) -> tuple[Rotation, ...]:
    """Of layers, again and again: the last of `count` is not turned; 0: all are."""
    return (*[rotation] * (count - 1), NO_ROPE) if count else (rotation,)


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
