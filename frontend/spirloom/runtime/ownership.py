"""Who may use a model on the device: one thread at a time, in the process that made it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from spirloom.runtime import process
from spirloom.runtime.errors import Busy, InvalidArgument, Unsupported
from spirloom.runtime.native import Handle


class Ownership:
    """A model's handle, and the lock of all models that share what is on the device."""

    def __init__(self, handle: Handle, shares: Ownership | None) -> None:
        self._handle: Handle | None = handle
        self.lock: threading.Lock = threading.Lock() if shares is None else shares.lock
        self._forks: int = process.forks
        self._dropped: list[Handle] = []  # pending runs, to be freed by who next holds the lock

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return self._handle is None

    def check_process(self) -> None:
        """Raises Unsupported after a fork."""
        if self._forks != process.forks:
            raise Unsupported(process.FORKED)

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
