"""Rotary position embeddings (RoPE): frequencies per column pair, with YaRN and other scalings."""

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
class RotaryEmbedding:
    """`frequencies` (float64): rotation in radians per position of the first column pairs; further
    pairs are not rotated. `attention_factor` multiplies the cosines and sines. `name` is the
    suffix of the tables' names. Raises ImportFailure for values that are not finite.
    """

    name: str
    frequencies: Array
    attention_factor: float = 1.0

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.frequencies)) or not np.isfinite(self.attention_factor):
            raise ImportFailure("The RoPE frequencies or the attention factor are not finite.")

    def tables(self, context: int, pairs: int) -> tuple[Array, Array]:
        """Cosines and sines by position and pair, float32 [context, pairs]."""
        angles = np.arange(context)[:, None] * self.frequencies.astype(np.float32)
        rest = ((0, 0), (0, pairs - len(self.frequencies)))
        cos, sin = self.attention_factor * np.cos(angles), self.attention_factor * np.sin(angles)
        return (
            np.pad(cos.astype(np.float32), rest, constant_values=1.0),
            np.pad(sin.astype(np.float32), rest),
        )


NO_ROPE = RotaryEmbedding(".no_rope", np.zeros(0))


def default_frequencies(base: float, columns: int) -> Array:
    """The frequencies of unscaled RoPE over `columns` columns of a head."""
    if not np.isfinite(base) or base <= 0:
        raise ImportFailure(f"The RoPE base, {base}, is not above 0.")
    if not 2 <= columns <= _MAX_COLUMNS:
        raise ImportFailure(f"RoPE of {columns} columns is not in 2 … {_MAX_COLUMNS}.")
    return np.asarray(base ** -(np.arange(0, columns, 2, dtype=np.float64) / columns))


def interpolated(frequencies: Array, factor: float) -> Array:
    """Linear position interpolation: positions are divided by `factor`."""
    # RotaryEmbedding refuses values that are not finite.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return frequencies / np.float64(factor)


def llama3_frequencies(frequencies: Array, rope: Mapping[str, Any]) -> Array:
    """Llama 3's scaling: interpolates low frequencies, keeps high ones, blends those between."""
    factor, original = float(rope["factor"]), float(rope["original_max_position_embeddings"])
    low, high = float(rope["low_freq_factor"]), float(rope["high_freq_factor"])
    wavelengths = 2 * np.pi / frequencies
    ramp = np.clip((original / wavelengths - low) / (high - low), 0, 1)
    return np.asarray((1 - ramp) * frequencies / factor + ramp * frequencies)


def divide_by_factors(frequencies: Array, factors: Array, source: str) -> Array:
    """Divides each frequency by its factor. `source` names the factors in messages. Raises
    ImportFailure."""
    if factors.shape != frequencies.shape or not np.all(np.isfinite(factors) & (factors > 0)):
        raise ImportFailure(
            f"{source} has shape {list(factors.shape)} or a factor that is not above 0; expected "
            f"{list(frequencies.shape)}, a factor per column pair."
        )
    return frequencies / factors.astype(np.float64)


def with_no_rope_layers(rotation: RotaryEmbedding, interval: int) -> tuple[RotaryEmbedding, ...]:
    """The pattern over the layers in which the last of every `interval` has no RoPE; 0: none."""
    return (*[rotation] * (interval - 1), NO_ROPE) if interval else (rotation,)


# The key of the context before context extension.
ORIGINAL = "original_max_position_embeddings"


def yarn(name: str, base: float, columns: int, rope: Mapping[str, Any]) -> RotaryEmbedding:
    """YaRN over `columns` columns of a head. `rope` has the keys of config.json, with the meaning
    they have in transformers. Raises ImportFailure."""
    plain, factor = default_frequencies(base, columns), _value(rope, "factor", minimum=1)
    ramp = _interpolation_ramp(base, columns, rope)
    frequencies = (1 - ramp) * plain + ramp * interpolated(plain, factor)
    return RotaryEmbedding(name, frequencies, _attention_factor(rope, factor))


def _interpolation_ramp(base: float, columns: int, rope: Mapping[str, Any]) -> Array:
    """The share of interpolation of each pair: 0 up to the pair that rotates `beta_fast` times
    within the original context, 1 from the pair that rotates `beta_slow` times."""
    if base <= 1:
        raise ImportFailure(f"The RoPE base, {base}, is not above 1, which YaRN requires.")
    original = _value(rope, ORIGINAL, minimum=1)
    fast, slow = _value(rope, "beta_fast", 0, 32), _value(rope, "beta_slow", 0, 1)
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


def _attention_factor(rope: Mapping[str, Any], factor: float) -> float:
    stated = rope.get("attention_factor")
    if stated is not None:
        return float(stated)
    mscale, mscale_all_dim = _value(rope, "mscale", 0, 0), _value(rope, "mscale_all_dim", 0, 0)
    if mscale and mscale_all_dim:
        return (1 + 0.1 * mscale * math.log(factor)) / (1 + 0.1 * mscale_all_dim * math.log(factor))
    return 1 + 0.1 * math.log(factor)


def _value(rope: Mapping[str, Any], key: str, minimum: float, default: float = math.nan) -> float:
    value = float(default if rope.get(key) is None else rope[key])
    if not value >= minimum:
        raise ImportFailure(f"YaRN's {key}, {value}, is not {minimum} or above.")
    return value
