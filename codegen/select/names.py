"""Names: what they stand for, and what a misspelt one may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from codegen.loader import Library
from codegen.op import Op
from codegen.spec import Variant

_GLOB = frozenset("*?[")


def find(library: Library, name: str) -> list[tuple[Op, tuple[Variant, ...]]]:
    """What a name stands for: an op (full or short name), one of its kernels, or a variant's id.

    A glob stands for whatever it fits at the first of these levels where it fits anything.
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
    """Every op's names and every kernel's."""
    return list(dict.fromkeys(_known_names(library)))


def _known_names(library: Library) -> Iterator[str]:
    for op in library.ops.values():
        yield op.short_name
        yield op.name
        yield from (kernel.name for kernel in op.kernels)


def nearest(word: str, known: Sequence[str]) -> str:
    """` Did you mean …?` with the likeliest spellings, or nothing."""
    close = difflib.get_close_matches(word, known, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(close)}?" if close else ""
