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
    """Memory of a model, which NumPy makes an array of; keeps the model's memory alive."""

    def __init__(self, model: Handle, address: int, info: TensorInfo) -> None:
        self._model = model
        self.__array_interface__ = {
            "data": (address, False),
            "shape": info.shape,
            "typestr": info.dtype.str,
            "version": 3,
        }


class SharedArrays:
    """Hands out such arrays and knows whether any is still referred to."""

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
        """Whether an array that was handed out, or a part of one, is still there."""
        return len(self._live) > 0


class States(Mapping[str, Array]):
    """A model's states by name; Model.states makes it.

    Each look copies a state from the device, each assignment copies one there. Busy during a run.
    """

    def __init__(
        self,
        library: Native,
        infos: Sequence[TensorInfo],
        calls: Callable[[], AbstractContextManager[Handle]],
    ) -> None:
        self._native = library
        self._places = {info.name: i for i, info in enumerate(infos)}
        self._calls = calls
        self.infos = tuple(infos)
        """Their names, dtypes and shapes, in order."""

    def __getitem__(self, name: str) -> Array:
        info = self.infos[self._places[name]]
        array = np.empty(info.shape, info.dtype)
        self._copy("read", name, array)
        return array

    def __setitem__(self, name: str, value: object) -> None:
        if name not in self._places:
            known = ", ".join(self._places) or "none"
            raise InvalidArgument(f"The model has no state '{name}'; it has: {known}.")
        info = self.infos[self._places[name]]
        array = to_array(value, info)
        if array.shape != info.shape:
            raise InvalidArgument(
                f"State '{name}' has the shape {list(info.shape)}, not {list(array.shape)}."
            )
        self._copy("write", name, array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _copy(self, way: str, name: str, array: Array) -> None:
        data = abi.Bytes(array.__array_interface__["data"][0], array.nbytes)
        with self._calls() as handle:
            place = self._places[name]
            self._native.call(f"model_{way}_state", handle.value, place, ctypes.byref(data))
