"""Terminal output: text from files made safe to print, and the progress of long imports."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO


def shown(text: str) -> str:
    """The text on one line. Unprintable characters are escaped, such as terminal controls and
    bidirectional overrides.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    return letter if letter.isprintable() else ascii(letter)[1:-1]


def in_bytes(count: float) -> str:
    """Examples: 4.1 kB, 3 B."""
    return _in_units(count, "B")


def in_flops(count: float) -> str:
    """Examples: 2.3 MFLOP, 12 FLOP."""
    return _in_units(count, "FLOP")


def _in_units(count: float, unit: str) -> str:
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= factor:
            return f"{count / factor:.1f} {prefix}{unit}"
    return f"{count:.0f} {unit}"


def bytes_text(count: float) -> str:
    """A size for people. Example: 13.6 MB."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


Report = Callable[[str], None]

# Short work prints nothing. Long work does not print every step.
_QUIET_SECONDS = 1.0
_SECONDS_BETWEEN = 0.1
_ERASE = "\r\x1b[K"


def silent(what: str) -> None:
    """Reports nothing."""


class Progress:
    """One line of the terminal that is overwritten and finally erased. Prints nothing to other
    streams.
    """

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
        """Shows the current step, at a limited rate."""
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
