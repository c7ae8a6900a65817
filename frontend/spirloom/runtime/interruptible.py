"""Long calls of the main thread that Ctrl-C can interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """Runs work() on another thread if this is the main thread, which then still handles signals.

    After a KeyboardInterrupt the work continues in the background and its result is discarded.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome = _Outcome(work)
    thread = threading.Thread(target=outcome.find, name="spirloom load")
    thread.start()
    outcome.found.wait()
    thread.join()
    return outcome.get()


class _Outcome(Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        self.found = threading.Event()
        self._work = work
        self._value: list[T] = []
        self._error: BaseException | None = None

    def find(self) -> None:
        try:
            self._value.append(self._work())
        except BaseException as error:  # raised again in the calling thread
            self._error = error
        finally:
            self.found.set()

    def get(self) -> T:
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # its traceback refers to this frame
        return self._value.pop()
