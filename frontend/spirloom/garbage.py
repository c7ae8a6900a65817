"""Searches for cyclic garbage during long work."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 1 << 17  # of objects between searches, instead of Python's 700


@contextmanager
def rare_collections() -> Iterator[None]:
    """Searches rarely. An import allocates many objects that stay, and searches visit all of them
    and those of the operators again and again."""
    before = gc.get_threshold()
    if before[0]:  # 0: none at all
        gc.set_threshold(max(before[0], _ALLOCATIONS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
