"""Filters: the dtypes and storages that a selection is limited to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from codegen.errors import Position, SpecError, one_of
from codegen.select.names import nearest
from codegen.spec import Variant
from codegen.vocabulary import DType, Storage

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the variants all of whose axes have these values."""

    dtypes: frozenset[DType] = frozenset(DType)
    storages: frozenset[Storage] = frozenset(Storage)

    def accepts(self, variant: Variant) -> bool:
        """Whether every dtype and storage on the variant's axes is among ours."""
        allowed = self.dtypes | self.storages
        return all(isinstance(v, int) or v in allowed for v in variant.values.values())

    def __and__(self, other: Filter) -> Filter:
        return Filter(self.dtypes & other.dtypes, self.storages & other.storages)

    def __str__(self) -> str:
        return f"dtypes {words_of(DType, self.dtypes)}; storages {words_of(Storage, self.storages)}"


EVERYTHING = Filter()


def words_of(kind: type[Word], chosen: frozenset[Word]) -> str:
    """The chosen words in their usual order."""
    return one_of(word for word in kind if word in chosen)


def parse_words(
    words: Sequence[str], kind: type[Word], what: str, selector: str
) -> frozenset[Word]:
    """The values that a selector lists; all of them if it lists none."""
    for word in words:
        if word not in kind.__members__.values():
            message = f"{what} '{word}' is not one of: {one_of(kind)}.{nearest(word, list(kind))}"
            raise SpecError.at(Position(selector), message)
    return frozenset(map(kind, words)) or frozenset(kind)
