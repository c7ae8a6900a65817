"""Pending runs as futures, and exclusive access to a model by one thread at a time."""

from __future__ import annotations

import asyncio
import ctypes
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from spirloom.runtime import abi, native
from spirloom.runtime.arrays import BoundArrays, to_torch
from spirloom.runtime.errors import Busy, InvalidArgument, Unsupported
from spirloom.runtime.native import Handle, Native
from spirloom.runtime.output_sizes import OutputSizes
from spirloom.runtime.tensors import TensorInfo


class Ownership:
    """Owns a model's handle. Models that share device memory share one lock."""

    def __init__(self, handle: Handle, shares: Ownership | None) -> None:
        self._handle: Handle | None = handle
        self.lock: threading.Lock = threading.Lock() if shares is None else shares.lock
        self._forks: int = native.forks
        self._dropped: list[Handle] = []  # pending runs, freed by the next holder of the lock

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return self._handle is None

    def check_process(self) -> None:
        """Raises Unsupported after a fork."""
        if self._forks != native.forks:
            raise Unsupported(native.FORKED)

    def claim(self) -> Handle:
        """The model, exclusively for this thread until `lock` is released. Busy if it is in use."""
        self.check_process()
        if not self.lock.acquire(blocking=False):
            raise Busy(
                "Another thread is using the model; only one call at a time is allowed. "
                "Create a context for each thread (Model.context()), or serialize the calls."
            )
        if self._handle is None:
            self.lock.release()
            raise InvalidArgument("The model is closed; load it again.")
        self._dropped.clear()
        return self._handle

    @contextmanager
    def claimed(self) -> Iterator[Handle]:
        """The C API's model, with exclusive access. Busy if another call uses it."""
        handle = self.claim()
        try:
            yield handle
        finally:
            self.lock.release()

    def close(self) -> None:
        """Frees the model after its last pending run and shared array. Further claims fail."""
        handle = self.claim()
        self._handle = None
        self.lock.release()
        del handle

    def drop(self, run: Handle) -> None:
        """Frees an unreferenced run: now if the model is idle, else during the next call.

        Never waits for the lock: garbage collection may call this in a thread that holds it.
        """
        self._dropped.append(run)
        del run
        if self.lock.acquire(blocking=False):
            try:
                self._dropped.clear()
            finally:
                self.lock.release()


_SLICE_NS = 50_000_000  # maximum delay of a signal handler during a wait


class PendingRun:
    """The result of Model.submit(). The model accepts no other call until result() returns."""

    def __init__(
        self,
        library: Native,
        owner: Ownership,
        handle: Handle,
        outputs: Sequence[TensorInfo],
        bound: BoundArrays,
        sizes: OutputSizes,
        in_torch: bool,
    ) -> None:
        self._native = library
        self._owner = owner
        self._handle = handle
        self._outputs = outputs
        self._bound = bound
        self._sizes = sizes
        self._in_torch = in_torch
        self._lock = threading.Lock()
        self._result: tuple[Any, ...] | None = None

    def done(self) -> bool:
        """Whether result() would return immediately. False while another thread waits for it."""
        self._owner.check_process()
        if self._result is not None:
            return True
        if not self._owner.lock.acquire(blocking=False):
            return False
        try:
            done = ctypes.c_bool()
            self._native.call("pending_run_is_done", self._handle.value, ctypes.byref(done))
            return done.value
        finally:
            self._owner.lock.release()

    def result(self, timeout: float | None = None) -> tuple[Any, ...]:
        """Waits for the run and returns the outputs, as a call does.

        Raises TimeoutError after `timeout` seconds, DeviceLost, Busy if a later run has
        overwritten the outputs.
        """
        self._owner.check_process()
        with self._lock:
            if self._result is None:
                self._wait(timeout)
                self._result = self._fetch()
            return self._result

    def __await__(self) -> Generator[Any, None, tuple[Any, ...]]:
        """Awaits result() in a thread of the event loop's executor."""
        return asyncio.get_running_loop().run_in_executor(None, self.result).__await__()

    def __del__(self) -> None:
        # Passes the only reference: the handle must be freed while the model's lock is held.
        self._owner.drop(self.__dict__.pop("_handle"))

    def _wait(self, timeout: float | None) -> None:
        """Waits in slices, so that Python handles signals in between."""
        deadline = None if timeout is None else time.monotonic() + timeout
        ended = ctypes.c_bool()
        while not ended.value:
            left = _SLICE_NS
            if deadline is not None:
                left = min(left, max(0, int((deadline - time.monotonic()) * 1e9)))
            with self._owner.lock:
                self._native.call(
                    "pending_run_wait_for", self._handle.value, left, ctypes.byref(ended)
                )
            if not ended.value and deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"The run has not finished within {timeout} s; it continues.")

    def _fetch(self) -> tuple[Any, ...]:
        free = self._bound.free("output", self._outputs)
        arrays = [np.empty(info.shape, info.dtype) for info in free]
        arrays = self._bound.merged("output", arrays)
        sizes = self._bound.sizes("output", self._outputs)
        given = abi.bytes_array(
            (array.ctypes.data, size) for array, (_, size) in zip(arrays, sizes, strict=True)
        )
        with self._owner.lock:
            handle = self._handle.value
            self._native.call("pending_run_wait", handle, given, len(arrays))
        arrays = self._sizes.cut(arrays)
        return tuple(map(to_torch, arrays) if self._in_torch else arrays)
