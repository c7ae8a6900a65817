"""What the metadata of a GGUF file says of a model like Llama."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.family.config import Config
from spirloom.family.rotation import (
    Rotation,
    divided,
    every_so_many,
    plain_frequencies,
    stretched,
)
from spirloom.family.traits import FULL, SLIDING
from spirloom.family.yarn import ORIGINAL, yarn
from spirloom.gguf.architectures import ARCHITECTURES
from spirloom.gguf.file import GgufFile
from spirloom.gguf.tensors import FREQUENCIES, HEAD, LONG, SHORT, TABLE, read_tensor
from spirloom.weight_numbers import Numbers

# How positions are scaled: the values of `rope.scaling.type`.
_SCALINGS = ("none", "linear", "longrope", "yarn")
# What config.json calls the keys of `rope.scaling` that a file may leave out.
_OF_YARN = {
    "attention_factor": "yarn_attn_factor",
    "beta_fast": "yarn_beta_fast",
    "beta_slow": "yarn_beta_slow",
    "mscale_all_dim": "yarn_log_multiplier",
}


def read_config(file: GgufFile, context: int | None = None) -> Config:
    """For caches of `context` rows, unless told as many as the model was trained for. Raises
    ImportFailure."""
    return _Reader(file, context).config()


class _Reader:
    """Reads the keys of the file's architecture."""

    def __init__(self, file: GgufFile, context: int | None) -> None:
        self._file = file
        self._context = context
        found = file.metadata.get("general.architecture")
        if not isinstance(found, str) or found not in ARCHITECTURES:
            raise ImportFailure(
                f"{file.path}: general.architecture is {found!r:.80}, and none of: "
                f"{', '.join(ARCHITECTURES)}."
            )
        self._name = found
        self._architecture = ARCHITECTURES[found]

    def config(self) -> Config:
        heads, hidden = self._whole("attention.head_count"), self._whole("embedding_length")
        head_size = self._whole("attention.key_length", hidden // max(heads, 1))
        layers, types = self._whole("block_count"), self._architecture.traits.types
        self._refuse("attention.value_length", head_size)
        self._refuse("attention.sliding_window_pattern", len(types))
        self._refuse("expert_count", 0)
        self._refuse("logit_scale", 1.0)
        window = self._whole("attention.sliding_window", 0)
        if window and SLIDING not in types:
            raise ImportFailure("A sliding window in some layers is not supported.")
        vocabulary = self._file.tensors[TABLE].shape[0] if TABLE in self._file.tensors else 0
        by_hidden = layers == self._architecture.by_hidden
        return Config(
            family=self._name,
            traits=self._architecture.traits,
            vocabulary=vocabulary,
            hidden=hidden,
            inner=self._whole("feed_forward_length"),
            layers=layers,
            heads=heads,
            cached_heads=self._whole("attention.head_count_kv", heads),
            head_size=head_size,
            eps=self._number("attention.layer_norm_rms_epsilon"),
            context=self._whole("context_length"),
            tied=HEAD not in self._file.tensors,
            windows=tuple(window if kind == SLIDING else 0 for kind in types),
            rotations=self._rotations(head_size),
            scale=max(hidden // max(heads, 1), 1) ** -0.5 if by_hidden else 0.0,
            score_cap=self._number("attn_logit_softcapping", 0.0),
            logit_cap=self._number("final_logit_softcapping", 0.0),
            by_neighbours=self._architecture.by_neighbours,
        )

    def _rotations(self, head_size: int) -> tuple[Rotation, ...]:
        """Those of layers, again and again."""
        traits = self._architecture.traits
        columns = self._whole("rope.dimension_count", head_size)
        full = self._scaled(self._number("rope.freq_base", 10000.0), columns)
        by_type = {FULL: full, SLIDING: full}
        if traits.local_base is not None:
            local = self._number("rope.freq_base_swa", traits.local_base)
            by_type[SLIDING] = Rotation(".local", plain_frequencies(local, columns))
        if traits.unturned:
            return every_so_many(full, traits.unturned)
        return tuple(by_type[kind] for kind in traits.types)

    def _scaled(self, base: float, columns: int) -> Rotation:
        kind = self._file.metadata.get(self._key("rope.scaling.type"), "none")
        if kind not in _SCALINGS:
            raise ImportFailure(
                f"{self._key('rope.scaling.type')} is {kind!r:.80}, and none of: "
                f"{', '.join(_SCALINGS)}."
            )
        if kind == "yarn":
            rotation = self._yarn(base, columns)
        else:
            frequencies = plain_frequencies(base, columns)
            if kind == "linear":
                frequencies = stretched(frequencies, self._number("rope.scaling.factor"))
            rotation = Rotation("", frequencies, self._number("rope.scaling.attn_factor", 1.0))
        frequencies = rotation.frequencies
        for name in (FREQUENCIES, self._of_context()):
            if name in self._file.tensors:
                stored = read_tensor(self._file, name)
                factors = stored.floats() if isinstance(stored, Numbers) else stored
                frequencies = divided(frequencies, factors, f"Tensor {name!r}")
        return replace(rotation, frequencies=frequencies)

    def _yarn(self, base: float, columns: int) -> Rotation:
        """Raises ImportFailure for attn_factor, too: converters mean all by which what is turned
        grows, and llama.cpp multiplies that by what it computes itself."""
        self._refuse("rope.scaling.attn_factor", 1.0)
        self._refuse("rope.scaling.yarn_ext_factor", 1.0)
        told = {
            ours: self._number(f"rope.scaling.{theirs}")
            for ours, theirs in _OF_YARN.items()
            if self._key(f"rope.scaling.{theirs}") in self._file.metadata
        }
        lengths = {"factor": self._number("rope.scaling.factor"), ORIGINAL: self._original()}
        return yarn("", base, columns, {"mscale": 1.0, **told, **lengths})

    def _of_context(self) -> str:
        """The name of the factors of contexts as long as the one asked for."""
        trained = self._whole("context_length")
        return LONG if (self._context or trained) > self._original() else SHORT

    def _original(self) -> int:
        """The contexts of the first training."""
        return self._whole("rope.scaling.original_context_length", self._whole("context_length"))

    def _key(self, name: str) -> str:
        return f"{self._name}.{name}"

    def _whole(self, name: str, default: int | None = None) -> int:
        value = self._file.metadata.get(self._key(name), default)
        if type(value) is not int:
            self._wrong(name, value, "a whole number")
        return value

    def _number(self, name: str, default: float | None = None) -> float:
        value = self._file.metadata.get(self._key(name), default)
        if type(value) is int:
            return float(value)
        if type(value) is not float or not np.isfinite(value):
            self._wrong(name, value, "a number")
        return value

    def _refuse(self, name: str, known: float) -> None:
        """Raises ImportFailure unless a key is absent or has the one value that is supported."""
        value = self._file.metadata.get(self._key(name), known)
        if type(value) not in (int, float) or value != known:
            self._wrong(name, value, str(known))

    def _wrong(self, name: str, value: object, wanted: str) -> NoReturn:
        found = "absent" if value is None else f"{value!r:.80}"
        raise ImportFailure(f"{self._file.path}: {self._key(name)} is {found}, and not {wanted}.")
