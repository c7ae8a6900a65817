"""What the metadata of a GGUF file says of a model of the Llama family."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.family.config import Config, plain_frequencies
from spirloom.gguf.file import GgufFile
from spirloom.gguf.tensors import FREQUENCIES, HEAD, TABLE
from spirloom.ir import Array

# Mistral's models are of the architecture llama, too.
ARCHITECTURES = ("llama", "qwen2", "qwen3")


def read_config(file: GgufFile, factors: Array | None) -> Config:
    """`factors` divide the frequencies, if there are some. Raises ImportFailure."""
    return _Reader(file).config(factors)


class _Reader:
    """Reads the keys of the file's architecture."""

    def __init__(self, file: GgufFile) -> None:
        self._file = file
        found = file.metadata.get("general.architecture")
        if found not in ARCHITECTURES:
            raise ImportFailure(
                f"{file.path}: general.architecture is {found!r}, and none of: "
                f"{', '.join(ARCHITECTURES)}."
            )
        self._architecture = str(found)

    def config(self, factors: Array | None) -> Config:
        heads, hidden = self._whole("attention.head_count"), self._whole("embedding_length")
        head_size = self._whole("attention.key_length", hidden // max(heads, 1))
        self._refuse("attention.value_length", head_size)
        self._refuse("rope.dimension_count", head_size)
        self._refuse("expert_count", 0)
        self._refuse("logit_scale", 1.0)
        window = self._whole("attention.sliding_window", 0)
        if window and self._architecture != "llama":
            raise ImportFailure("A sliding window in some layers is not supported.")
        vocabulary = self._file.tensors[TABLE].shape[0] if TABLE in self._file.tensors else 0
        return Config(
            family=self._architecture,
            vocabulary=vocabulary,
            hidden=hidden,
            inner=self._whole("feed_forward_length"),
            layers=self._whole("block_count"),
            heads=heads,
            cached_heads=self._whole("attention.head_count_kv", heads),
            head_size=head_size,
            eps=self._number("attention.layer_norm_rms_epsilon"),
            context=self._whole("context_length"),
            window=window,
            tied=HEAD not in self._file.tensors,
            frequencies=self._frequencies(head_size, factors),
        )

    def _frequencies(self, head_size: int, factors: Array | None) -> Array:
        plain = plain_frequencies(self._number("rope.freq_base", 10000.0), head_size)
        kind = self._file.metadata.get(self._key("rope.scaling.type"), "none")
        if kind == "linear":
            plain = plain / self._number("rope.scaling.factor")
        elif kind != "none":
            raise ImportFailure(
                f"{self._key('rope.scaling.type')} is {kind!r}, and only none and linear are known."
            )
        if factors is None:
            return plain
        if factors.shape != plain.shape or not np.all(np.isfinite(factors) & (factors > 0)):
            raise ImportFailure(
                f"Tensor {FREQUENCIES!r} is {list(factors.shape)}, and holds numbers above 0 for "
                f"{list(plain.shape)} pairs of columns."
            )
        return plain / factors.astype(np.float64)

    def _key(self, name: str) -> str:
        return f"{self._architecture}.{name}"

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
        if value != known:
            self._wrong(name, value, str(known))

    def _wrong(self, name: str, value: object, wanted: str) -> NoReturn:
        found = "absent" if value is None else f"{value!r:.80}"
        raise ImportFailure(f"{self._file.path}: {self._key(name)} is {found}, and not {wanted}.")
