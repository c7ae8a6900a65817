"""Runs in progress as futures, and the rule that one thread at a time uses a model."""

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
from spirloom.runtime.tensors import TensorInfo


class Ownership:
    """A model's handle, and the lock of all models that share what is on the device."""

    def __init__(self, handle: Handle, shares: Ownership | None) -> None:
        self._handle: Handle | None = handle
        self.lock: threading.Lock = threading.Lock() if shares is None else shares.lock
        self._forks: int = native.forks
        self._dropped: list[Handle] = []  # pending runs, to be freed by who next holds the lock

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return self._handle is None

    def check_process(self) -> None:
        """Raises Unsupported after a fork."""
        if self._forks != native.forks:
            raise Unsupported(native.FORKED)

    def claim(self) -> Handle:
        """The model, for this thread alone until `lock` is released."""
        self.check_process()
        if not self.lock.acquire(blocking=False):
            raise Busy(
                "Another thread is using the model, which takes one call at a time. "
                "Load it once for each thread, or take turns."
            )
        if self._handle is None:
            self.lock.release()
            raise InvalidArgument("The model is closed; load it again.")
        self._dropped.clear()
        return self._handle

    @contextmanager
    def claimed(self) -> Iterator[Handle]:
        """The C API's model, while no other call has it. Busy if one does."""
        handle = self.claim()
        try:
            yield handle
        finally:
            self.lock.release()

    def close(self) -> None:
        """Frees the model, once no pending run and no shared array needs it; claims then fail."""
        handle = self.claim()
        self._handle = None
        self.lock.release()
        del handle

    def drop(self, run: Handle) -> None:
        """Frees a run that nobody refers to, which counts as a call: now, or with the next one.

        Never waits for the lock: a garbage collection may call this while its own thread holds it.
        """
        self._dropped.append(run)
        del run
        if self.lock.acquire(blocking=False):
            try:
                self._dropped.clear()
            finally:
                self.lock.release()


_SLICE_NS = 50_000_000  # so long at most does a signal wait for its handler


class PendingRun:
    """What Model.submit() gives. The model takes no other call before result() has returned."""

    def __init__(
        self,
        library: Native,
        owner: Ownership,
        handle: Handle,
        outputs: Sequence[TensorInfo],
        bound: BoundArrays,
        in_torch: bool,
    ) -> None:
        self._native = library
        self._owner = owner
        self._handle = handle
        self._outputs = outputs
        self._bound = bound
        self._in_torch = in_torch
        self._lock = threading.Lock()
        self._result: tuple[Any, ...] | None = None

    def done(self) -> bool:
        """Whether result() would return at once. False while another thread waits for it."""
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
        """The outputs, as of a call; waits for at most `timeout` seconds, or TimeoutError.

        Raises DeviceLost; Busy if the model has run again before.
        """
        self._owner.check_process()
        with self._lock:
            if self._result is None:
                self._wait(timeout)
                self._result = self._fetch()
            return self._result

    def __await__(self) -> Generator[Any, None, tuple[Any, ...]]:
        """`await` gives result(); a thread of the event loop's executor waits."""
        return asyncio.get_running_loop().run_in_executor(None, self.result).__await__()

    def __del__(self) -> None:
        # Nothing else may refer to the handle: it is to go while the model's lock is held.
        self._owner.drop(self.__dict__.pop("_handle"))

    def _wait(self, timeout: float | None) -> None:
        """In slices, between which signals are handled."""
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
                raise TimeoutError(f"The run has not ended within {timeout} s; it goes on.")

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
        return tuple(map(to_torch, arrays) if self._in_torch else arrays)
