"""Arrays that are computed when they are read, by ranges of rows: the weights of large models."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """An array of `shape` and `dtype` whose rows, along the first dimension, `read` computes.

    `read(start, stop)` returns rows; nothing is cached, and several threads may call it. `key`:
    arrays with equal keys have equal content.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[int, int], Array]
    key: Hashable

    @classmethod
    def of(cls, array: Array) -> Deferred:
        """A mapped array, which is read on access."""
        return cls(
            array.shape, array.dtype, lambda start, stop: array[start:stop], _Identity(array)
        )

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """The bytes of the array."""
        return prod(self.shape) * self.dtype.itemsize

    def array(self) -> Array:
        """The whole array."""
        return np.ascontiguousarray(self.read(0, len(self)))

    def blocks(self, max_bytes: int) -> Iterator[Array]:
        """The array in ranges of rows of about `max_bytes`."""
        for read in self.block_reads(max_bytes):
            yield read()

    def block_reads(self, max_bytes: int) -> Iterator[Callable[[], Array]]:
        """Functions that compute blocks(), for several threads."""
        step = max(1, max_bytes * len(self) // max(1, self.nbytes))
        for start in range(0, len(self), step):
            yield partial(self._block, start, min(start + step, len(self)))

    def _block(self, start: int, stop: int) -> Array:
        return np.ascontiguousarray(self.read(start, stop))

    def rows(self, start: int, stop: int) -> Deferred:
        """A range of the rows."""
        return Deferred(
            (stop - start, *self.shape[1:]),
            self.dtype,
            lambda first, last: self.read(start + first, start + last),
            (self.key, start, stop),
        )

    def reordered(self, order: Array) -> Deferred:
        """Row i is row `order[i]`; neighbors should stay close, as within attention heads."""

        def read(start: int, stop: int) -> Array:
            chosen = order[start:stop]
            if not len(chosen):
                return self.read(0, 0)
            low = int(chosen.min())
            found: Array = self.read(low, int(chosen.max()) + 1)[chosen - low]
            return found

        return Deferred(
            (len(order), *self.shape[1:]), self.dtype, read, (self.key, order.tobytes())
        )

    def map(self, name: str, function: Callable[[Array], Array]) -> Deferred:
        """A function of the rows; `name` identifies it."""
        sample = function(self.read(0, min(1, len(self))))
        return Deferred(
            (len(self), *sample.shape[1:]),
            sample.dtype,
            lambda start, stop: function(self.read(start, stop)),
            (self.key, name),
        )


def concatenated(parts: Sequence[Array | Deferred]) -> Array | Deferred:
    """The rows of all parts; deferred if a part is."""
    if len(parts) == 1:
        return parts[0]
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts):
        return np.concatenate(arrays)
    sources = [part if isinstance(part, Deferred) else Deferred.of(part) for part in parts]
    ends = list(accumulate(map(len, sources)))

    def read(start: int, stop: int) -> Array:
        found = [
            source.read(max(start - begin, 0), min(stop, end) - begin)
            for source, begin, end in zip(sources, [0, *ends[:-1]], ends, strict=True)
            if start < end and stop > begin
        ]
        if len(found) == 1:
            return found[0]
        return np.concatenate(found) if found else sources[0].read(0, 0)

    first = sources[0]
    key = tuple(source.key for source in sources)
    return Deferred((ends[-1], *first.shape[1:]), first.dtype, read, key)


class _Identity:
    """A key that keeps its array alive, so that no other array gets its address."""

    def __init__(self, array: Array) -> None:
        self._array = array
