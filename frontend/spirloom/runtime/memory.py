"""Arrays over memory shared by host and device, and the states of a model."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from spirloom.runtime import abi
from spirloom.runtime.arrays import Array, to_array
from spirloom.runtime.errors import InvalidArgument
from spirloom.runtime.native import Handle, Native
from spirloom.runtime.tensors import TensorInfo


class SharedMemory:
    """Model memory as a NumPy array interface. Keeps the model alive."""

    def __init__(self, model: Handle, address: int, info: TensorInfo) -> None:
        self._model = model
        self.__array_interface__ = {
            "data": (address, False),
            "shape": info.shape,
            "typestr": info.dtype.str,
            "version": 3,
        }


class SharedArrays:
    """Creates arrays over model memory and tracks whether any is still referenced."""

    def __init__(self) -> None:
        self._live: weakref.WeakSet[SharedMemory] = weakref.WeakSet()

    def array(
        self, library: Native, model: Handle, kind: str, i: int, info: TensorInfo
    ) -> npt.NDArray[Any]:
        """The array of input or output `i`; `kind` is "input" or "output"."""
        if info.nbytes == 0:
            return np.empty(info.shape, info.dtype)
        found = abi.Bytes()
        library.call(f"model_{kind}_bytes", model.value, i, ctypes.byref(found))
        memory = SharedMemory(model, found.data or 0, info)
        self._live.add(memory)
        return np.asarray(memory)

    def in_use(self) -> bool:
        """Whether a returned array, or a view of one, is still referenced."""
        return len(self._live) > 0


class States(Mapping[str, Array]):
    """A model's states by name; created by Model.states.

    Reading copies a state from the device, assigning copies it to the device. Busy during a run.
    """

    def __init__(
        self,
        library: Native,
        infos: Sequence[TensorInfo],
        calls: Callable[[], AbstractContextManager[Handle]],
    ) -> None:
        self._native = library
        self._indices = {info.name: i for i, info in enumerate(infos)}
        self._calls = calls
        self.infos = tuple(infos)
        """Their names, dtypes and shapes, in order."""

    def __getitem__(self, name: str) -> Array:
        info = self.infos[self._indices[name]]
        array = np.empty(info.shape, info.dtype)
        self._copy("read", name, array)
        return array

    def rows(self, name: str, begin: int, end: int) -> Array:
        """Copies only the rows `begin` to `end` (exclusive) of a state's first dimension. Raises
        InvalidArgument for a range beyond the state.
        """
        info = self.infos[self._indices[name]]
        count = info.shape[0] if info.shape else 0
        if not 0 <= begin <= end <= count:
            raise InvalidArgument(
                f"Rows {begin} to {end} are not within the {count} rows of state '{name}'."
            )
        array = np.empty((end - begin, *info.shape[1:]), info.dtype)
        offset = begin * (info.nbytes // count) if count else 0
        data = abi.Bytes(array.__array_interface__["data"][0], array.nbytes)
        with self._calls() as handle:
            index = self._indices[name]
            self._native.call(
                "model_read_state_range", handle.value, index, offset, ctypes.byref(data)
            )
        return array

    def __setitem__(self, name: str, value: object) -> None:
        if name not in self._indices:
            known = ", ".join(self._indices) or "none"
            raise InvalidArgument(f"The model has no state '{name}'; it has: {known}.")
        info = self.infos[self._indices[name]]
        array = to_array(value, info)
        if array.shape != info.shape:
            raise InvalidArgument(
                f"The array for state '{name}' has shape {list(array.shape)}; "
                f"expected {list(info.shape)}."
            )
        self._copy("write", name, array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)

    def _copy(self, direction: str, name: str, array: Array) -> None:
        data = abi.Bytes(array.__array_interface__["data"][0], array.nbytes)
        with self._calls() as handle:
            index = self._indices[name]
            self._native.call(f"model_{direction}_state", handle.value, index, ctypes.byref(data))
