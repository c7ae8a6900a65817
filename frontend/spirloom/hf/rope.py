"""What `config.json` says of rotary embeddings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.family.rotation import (
    UNTURNED,
    Rotation,
    divided,
    every_so_many,
    plain_frequencies,
    scaled_as_llama3,
    stretched,
)
from spirloom.family.traits import FULL, SLIDING, Traits
from spirloom.family.yarn import ORIGINAL, yarn
from spirloom.ir import Array

_MOST_LAYERS = 1 << 16
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
    if traits.unturned:
        return _but_unturned(given, traits, found)
    return found


def _but_unturned(
    given: Mapping[str, Any], traits: Traits, rotations: tuple[Rotation, ...]
) -> tuple[Rotation, ...]:
    turned, layers = given.get("no_rope_layers"), int(given["num_hidden_layers"])
    if turned:  # by layer, whether it is
        if len(turned) < layers:
            raise ImportFailure(
                f"no_rope_layers tells of {len(turned)} layers, and the model has {layers}."
            )
        return tuple(rotations[0] if each else UNTURNED for each in turned)
    key = "no_rope_layer_interval"
    return every_so_many(rotations[0], period(key, given.get(key, traits.unturned)))


def period(key: str, told: Any) -> int:
    """After how many layers a pattern begins again. Raises ImportFailure."""
    found = int(told)
    if not 1 <= found <= _MOST_LAYERS:
        raise ImportFailure(f"{key}, {found}, is not in 1 … {_MOST_LAYERS}.")
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
