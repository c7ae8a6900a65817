"""Arrays over memory that the host and the device share."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from spirloom.runtime import abi
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
