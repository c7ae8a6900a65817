"""Arrays that show a mapped file: the system reads their pages when they are used."""

from __future__ import annotations

from mmap import MADV_DONTNEED, mmap
from typing import Any

import numpy as np

from spirloom.ir import Array

LEAST = 1 << 16  # bytes of what is worth a call of the system


def let_go(array: Array) -> None:
    """Gives the pages of the file that an array shows back to the system, which reads them again
    when they are wanted. So weights that are looked at one by one are in memory one by one.
    """
    if array.nbytes < LEAST:
        return
    root: Array = array
    owner: Any = array.base
    while owner is not None and not isinstance(owner, mmap):
        root = owner if isinstance(owner, np.ndarray) else root
        owner = owner.obj if isinstance(owner, memoryview) else getattr(owner, "base", None)
    # What was written into such memory would be lost.
    if isinstance(owner, mmap) and not root.flags.writeable:
        owner.madvise(MADV_DONTNEED)
