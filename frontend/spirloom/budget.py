"""How much memory the constants that an import computes may take."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from spirloom.ir import Array
from spirloom.ops import OpError

TIMES_THE_MODEL = 8
DEFAULT_EXTRA = 1 << 30


class Budget:
    """Counts the memory of arrays that are kept, however many arrays share it.

    A few bytes of a model can ask for any number of constants, so what they may take is bound to
    the model's own size.
    """

    def __init__(self, model_bytes: int, extra: int = DEFAULT_EXTRA) -> None:
        self._total = TIMES_THE_MODEL * model_bytes + extra
        self._used = 0
        self._owners: dict[int, Array] = {}  # kept, so that their ids stay theirs

    def hold(self, array: Array) -> None:
        """Counts an array that is kept. Raises OpError if it is one too many."""
        owner = _owner(array)
        if id(owner) not in self._owners:
            self.check(owner.shape, owner.itemsize)
            self._used += owner.nbytes
            self._owners[id(owner)] = owner

    def hold_free(self, array: Array) -> None:
        """Keeps an array of the model's own."""
        owner = _owner(array)
        self._owners[id(owner)] = owner

    def check(self, shape: Sequence[int], itemsize: int) -> None:
        """Raises OpError if there cannot be one more array of this shape."""
        size = prod(shape) * itemsize
        if any(d < 0 for d in shape):
            raise OpError(f"it makes a constant of the impossible shape {list(shape)}")
        if self._used + size > self._total:
            raise OpError(
                f"it makes a constant of {size} bytes, of shape {list(shape)}; with {self._used} "
                f"before, that is more than the {self._total} that constants computed at import "
                "may take: allow more with --constants-limit MIB"
            )


def _owner(array: Array) -> Array:
    """The array whose memory another shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
