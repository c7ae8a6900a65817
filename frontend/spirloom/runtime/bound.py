"""Arrays of the caller's that the device reads and writes where they lie, without copies."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from spirloom.runtime.arguments import array_of
from spirloom.runtime.arrays import Array
from spirloom.runtime.errors import InvalidArgument
from spirloom.runtime.native import Handle, Native
from spirloom.runtime.tensors import TensorInfo


def page_aligned(shape: int | Sequence[int], dtype: npt.DTypeLike = np.float32) -> Array:
    """An array of zeros in pages of its own: for Model.bind_input() and bind_output()."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    kind, count = np.dtype(dtype), prod(sizes)
    pages = mmap.mmap(-1, max(count * kind.itemsize, 1))
    return np.frombuffer(pages, kind, count).reshape(sizes)


class BoundArrays(dict[tuple[str, int], Array]):
    """The arrays that inputs and outputs are bound to, by "input" or "output" and place."""

    def bind(
        self, library: Native, model: Handle, kind: str, i: int, value: Any, info: TensorInfo
    ) -> None:
        """Binds, or with None ends it. InvalidArgument and WrongType for an array that cannot be.

        The array lives as long as it is bound, or as the model that pending runs hold.
        """
        array = None if value is None else array_of(value, info, kind)
        address = None if array is None else _address(array, info, kind)
        size = 0 if array is None else -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        library.call(f"model_bind_{kind}_memory", model.value, i, address, size)
        if array is None:
            self.pop((kind, i), None)
        else:
            self[kind, i] = array
        model.keeps = tuple(self.values())

    def free(self, kind: str, infos: Sequence[TensorInfo]) -> Sequence[TensorInfo]:
        """The tensors that are not bound, which calls take or give by themselves."""
        return [info for i, info in enumerate(infos) if (kind, i) not in self] if self else infos

    def merged(self, kind: str, others: Sequence[Any]) -> list[Any]:
        """One value for each tensor: what is bound, and `others` at the places of the rest."""
        found = list(others)
        for i in sorted(place for own, place in self if own == kind):
            found.insert(i, self[kind, i])
        return found

    def sizes(self, kind: str, infos: Sequence[TensorInfo]) -> list[tuple[None, int]]:
        """The bytes that calls pass for each tensor."""
        return [(None, 0 if (kind, i) in self else t.nbytes) for i, t in enumerate(infos)]

    def copy(self) -> BoundArrays:
        """As it is now."""
        return BoundArrays(self)


def _address(array: Array, info: TensorInfo, kind: str) -> ctypes.c_void_p:
    address = array.__array_interface__["data"][0]
    if array.nbytes == 0:
        raise InvalidArgument(f"The {kind} '{info.name}' has no elements, so nothing to bind.")
    if address % mmap.PAGESIZE:
        raise InvalidArgument(
            f"The array for {kind} '{info.name}' begins at {address}, which is not a multiple of "
            f"a page ({mmap.PAGESIZE} bytes); spirloom.runtime.page_aligned() makes one that does."
        )
    return ctypes.c_void_p(address)
