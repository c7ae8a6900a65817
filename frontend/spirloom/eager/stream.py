"""The stream of a runtime: device memory, and calls in order."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from spirloom.errors import SpirloomError
from spirloom.runtime import abi
from spirloom.runtime.native import Handle, Native
from spirloom.runtime.tensors import dtype_of

Array = npt.NDArray[Any]


class Block:
    """Device memory, freed with the last reference."""

    __slots__ = ("_stream", "address")

    def __init__(self, stream: Stream, address: int | None) -> None:
        self._stream = stream
        self.address = address

    def __del__(self) -> None:
        self._stream.free(self.address)


class Stream:
    """Owns device memory and a queue of commands. Thread-safe."""

    def __init__(self, library: Native, runtime: Handle) -> None:
        self._native = library
        self._handle = library.make("stream_create", "stream_destroy", runtime.value, None)
        self._handle.keeps = runtime
        self.dtypes: list[np.dtype[Any]] = []
        """The dtypes of tensors, by their value in the C API."""
        while library.text("dtype_name", len(self.dtypes)) != "unknown":
            self.dtypes.append(dtype_of(library, len(self.dtypes)))

    def upload(self, array: Array) -> Block:
        """A block with the elements of a C-contiguous array."""
        address = ctypes.c_void_p()
        handle = self._alive()
        self._native.call("stream_allocate", handle, array.nbytes, ctypes.byref(address))
        block = Block(self, address.value)
        if array.nbytes:
            source = array.__array_interface__["data"][0]
            self._native.call("stream_write", handle, address, source, array.nbytes)
        return block

    def download(self, address: int | None, array: Array) -> None:
        """Fills a C-contiguous array after the commands that modify the memory."""
        if array.nbytes:
            target = array.__array_interface__["data"][0]
            self._native.call("stream_read", self._alive(), target, address, array.nbytes)

    def free(self, address: int | None) -> None:
        """Frees a block; later commands may reuse its memory at once."""
        with suppress(SpirloomError):  # a lost device, or a forked process: nothing to free
            self._native.call("stream_free", self._alive(), address)

    def device_tensor(
        self, address: int | None, dtype: np.dtype[Any], shape: Sequence[int]
    ) -> abi.DeviceTensor:
        """The description of a tensor for call()."""
        sizes = (abi.Int * abi.MAX_RANK)(*shape)
        return abi.DeviceTensor(address, self.dtypes.index(dtype), len(shape), sizes)

    def call(
        self, op: int, arguments: Sequence[abi.Argument], results: int
    ) -> list[tuple[Block, np.dtype[Any], tuple[int, ...]]]:
        """Calls an operator. Returns memory, dtype and shape of each result."""
        given = (abi.Argument * len(arguments))(*arguments)
        made = (abi.DeviceTensor * results)()
        self._native.call("stream_call", self._alive(), op, given, len(arguments), made, results)
        return [
            (Block(self, each.address), self.dtypes[each.dtype], tuple(each.sizes[: each.rank]))
            for each in made
        ]

    def synchronize(self) -> None:
        """Waits for all commands."""
        self._native.call("stream_wait", self._alive(), 2**64 - 1)

    def _alive(self) -> int | None:
        self._handle.check_process()
        return self._handle.value
