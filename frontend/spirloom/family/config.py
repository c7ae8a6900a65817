"""The sizes of a model of the family, and what its positions turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.ir import Array

# Of any size that a config tells: more is no model, and products of two stay in 64 bits.
_MOST = 1 << 30


@dataclass(frozen=True, slots=True)
class Config:
    """The sizes of a model. `window` 0: every key is seen.

    `frequencies`, float64 [head_size / 2], are the angles by which a position turns
    its pairs of columns.
    """

    family: str
    vocabulary: int
    hidden: int
    inner: int
    layers: int
    heads: int
    cached_heads: int
    head_size: int
    eps: float
    context: int
    window: int
    tied: bool
    frequencies: Array

    def __post_init__(self) -> None:
        """Raises ImportFailure for sizes that no model has."""
        for field in fields(self):
            value, least = getattr(self, field.name), 0 if field.name == "window" else 1
            if type(value) is int and not least <= value <= _MOST:
                name = field.name
                raise ImportFailure(f"The model's {name}, {value}, is not in {least} … {_MOST}.")
        if self.heads % self.cached_heads:
            raise ImportFailure(
                f"{self.heads} heads of queries are no multiple of {self.cached_heads} of keys."
            )
        if self.head_size % 2:
            raise ImportFailure(f"A head of {self.head_size} columns has no pairs to turn.")

    def angles(self, context: int) -> tuple[Array, Array]:
        """Cosines and sines of each position's pairs, float32 [context, head_size / 2]."""
        angles = np.arange(context)[:, None] * self.frequencies.astype(np.float32)
        return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def plain_frequencies(base: float, head_size: int) -> Array:
    """Those of a model whose positions are not scaled."""
    if not np.isfinite(base) or base <= 0:
        raise ImportFailure(f"The base of rotary embeddings, {base}, is not above 0.")
    if not 2 <= head_size <= _MOST >> 10:
        raise ImportFailure(f"A head of {head_size} columns is not one of 2 … {_MOST >> 10}.")
    return np.asarray(base ** -(np.arange(0, head_size, 2, dtype=np.float64) / head_size))


def scaled_as_llama3(frequencies: Array, rope: Mapping[str, Any]) -> Array:
    """Long waves are stretched, short ones stay, those between are both in part."""
    factor, original = float(rope["factor"]), float(rope["original_max_position_embeddings"])
    low, high = float(rope["low_freq_factor"]), float(rope["high_freq_factor"])
    waves = 2 * np.pi / frequencies
    part = np.clip((original / waves - low) / (high - low), 0, 1)
    return np.asarray((1 - part) * frequencies / factor + part * frequencies)
