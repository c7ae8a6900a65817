"""Filters by dtype and storage, and the names of ops, kernels and variants."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TypeVar

from spec_model.errors import Position, SpecError, one_of
from spec_model.library import Library
from spec_model.op import Op
from spec_model.spec import Variant
from spec_model.vocabulary import DType, Storage

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Filter:
    """Accepts variants whose dtypes and storages are all in these sets."""

    dtypes: frozenset[DType] = frozenset(DType)
    storages: frozenset[Storage] = frozenset(Storage)

    def accepts(self, variant: Variant) -> bool:
        """Whether every dtype and storage of the variant's axes is in the sets."""
        allowed = self.dtypes | self.storages
        return all(isinstance(v, int) or v in allowed for v in variant.values.values())

    def __and__(self, other: Filter) -> Filter:
        return Filter(self.dtypes & other.dtypes, self.storages & other.storages)

    def __str__(self) -> str:
        return f"dtypes {words_of(DType, self.dtypes)}; storages {words_of(Storage, self.storages)}"


EVERYTHING = Filter()


def words_of(kind: type[Word], chosen: frozenset[Word]) -> str:
    """The chosen words in the order of the enum."""
    return one_of(word for word in kind if word in chosen)


def parse_words(
    words: Sequence[str], kind: type[Word], what: str, selector: str
) -> frozenset[Word]:
    """The values that a selector lists; all values if it lists none."""
    for word in words:
        if word not in kind.__members__.values():
            message = f"{what} '{word}' is not one of: {one_of(kind)}.{nearest(word, list(kind))}"
            raise SpecError.at(Position(selector), message)
    return frozenset(map(kind, words)) or frozenset(kind)


_GLOB = frozenset("*?[")


def find(library: Library, name: str) -> list[tuple[Op, tuple[Variant, ...]]]:
    """The variants of a name: an op (full or short name), a kernel, or a variant id.

    A glob is matched with ops, then with kernels, then with variants; the first level that has
    matches applies.
    """
    ops = list(library.ops.values())
    levels: tuple[list[tuple[Op, tuple[Variant, ...]]], ...] = (
        [(op, op.variants) for op in ops if _fits(name, op.name, op.short_name)],
        [(op, op.variants_of(k)) for op in ops for k in op.kernels if _fits(name, k.name)],
        [(op, (v,)) for op in ops for v in op.variants if _fits(name, v.id)],
    )
    return next((found for found in levels if found), [])


def _fits(pattern: str, *names: str) -> bool:
    if _GLOB.isdisjoint(pattern):
        return pattern in names
    return any(fnmatchcase(name, pattern) for name in names)


def known_names(library: Library) -> list[str]:
    """The names of all ops and kernels."""
    return list(dict.fromkeys(_known_names(library)))


def _known_names(library: Library) -> Iterator[str]:
    for op in library.ops.values():
        yield op.short_name
        yield op.name
        yield from (kernel.name for kernel in op.kernels)


def nearest(word: str, known: Sequence[str]) -> str:
    """` Did you mean …?` with the nearest spellings, or an empty string."""
    close = difflib.get_close_matches(word, known, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(close)}?" if close else ""
