"""What a GGUF file tells of its vocabulary, whatever the kind of that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.gguf.cursor import Value
from spirloom.ir import Array

KEY = "tokenizer.ggml."
# The numbers of tokenizer.ggml.token_type.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of tokens by their numbers, and the type of each."""

    texts: list[str]
    types: list[int]

    def numbers(self) -> dict[str, int]:
        """Each text's number: those of added tokens too, which keep theirs only then."""
        return {text: number for number, text in enumerate(self.texts)}

    def added(self) -> list[dict[str, Any]]:
        """The tokens that texts are searched for first, as a tokenizer.json has them."""
        return [
            {
                "id": number, "content": text, "single_word": False, "lstrip": False,
                "rstrip": False, "normalized": False, "special": kind != USER_DEFINED,
            }
            for number, (text, kind) in enumerate(zip(self.texts, self.types, strict=True))
            if kind in (UNKNOWN, CONTROL, USER_DEFINED)
        ]  # fmt: skip


def read_words(metadata: Mapping[str, Value]) -> Words:
    """Raises ImportFailure for what is no vocabulary."""
    found = texts(metadata, "tokens")
    types = array(metadata, "token_type", len(found), "iu")
    return Words(found, [NORMAL] * len(found) if types is None else types.tolist())


def texts(metadata: Mapping[str, Value], name: str) -> list[str]:
    """An array of strings. Raises ImportFailure."""
    found = metadata.get(f"{KEY}{name}")
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ImportFailure(f"{KEY}{name} is no array of strings, which a vocabulary needs.")
    return found


def array(metadata: Mapping[str, Value], name: str, count: int, kinds: str) -> Array | None:
    """`count` numbers, of NumPy's kinds; None if the file has none. Raises ImportFailure."""
    found = metadata.get(f"{KEY}{name}")
    if found is None:
        return None
    numbers = np.asarray(found)
    if numbers.shape != (count,) or (numbers.dtype.kind not in kinds and count):
        raise ImportFailure(f"{KEY}{name} does not tell a number of each of the {count} tokens.")
    return numbers
