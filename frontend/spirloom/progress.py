"""Shows on a terminal what a long import is at."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

Report = Callable[[str], None]

# Short work says nothing; of long work not every step is worth a write.
_QUIET_SECONDS = 1.0
_SECONDS_BETWEEN = 0.1
_ERASE = "\r\x1b[K"


def silent(what: str) -> None:
    """Reports nothing."""


class Progress:
    """One line of the terminal, written over again and erased at the end; nothing elsewhere."""

    def __init__(
        self,
        name: str,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._stream = sys.stderr if stream is None else stream
        self._watched = self._stream.isatty()
        self._clock = clock
        self._next = clock() + _QUIET_SECONDS
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __call__(self, what: str) -> None:
        """Says what is being done, if it is time to."""
        if self._watched and self._clock() >= self._next:
            self._next = self._clock() + _SECONDS_BETWEEN
            self._shown = True
            self._write(f"{_ERASE}{self._name}: {what}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._write(_ERASE)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
