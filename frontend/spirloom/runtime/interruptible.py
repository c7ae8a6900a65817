"""Long calls that Ctrl-C may end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """work(), on another thread if this is the main one, which signals then still reach.

    After a KeyboardInterrupt the work goes on to its end, and what it gives is dropped.
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
        except BaseException as error:  # the caller's, on its thread
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
