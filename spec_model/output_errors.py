"""Exit codes and messages of programs that are interrupted, whose output is closed or full, or that
run out of memory; the encoding of their output on Windows.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from functools import wraps
from typing import Any, ParamSpec

P = ParamSpec("P")

# The exit codes that a shell reports for a program terminated by SIGPIPE and by SIGINT.
EXIT_CODE = 141
INTERRUPTED = 130


class _Unwritable(Exception):
    """Standard output cannot be written."""


class _Output:
    """Standard output; its errors are distinguishable from errors of other files."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        if self._stream is None:
            raise _Unwritable("it is closed")
        return int(self._guarded("write", text))

    def flush(self) -> None:
        if self._stream is not None:
            self._guarded("flush")

    def _guarded(self, method: str, *args: str) -> Any:
        try:
            return getattr(self._stream, method)(*args)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _Unwritable(error.strerror or str(error)) from error


def handle_output_errors(main: Callable[P, int]) -> Callable[P, int]:
    """Wraps the main function of a program.

    Returns EXIT_CODE if standard output is a closed pipe, as in `… | head`. Returns INTERRUPTED and
    prints a line after Ctrl-C. Returns 1 and prints a message if standard output cannot be written
    or memory is exhausted. Output is UTF-8.
    """

    @wraps(main)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> int:
        if os.name == "nt":
            _use_utf8()
        output: Any = _Output(sys.stdout)
        try:
            with redirect_stdout(output):
                try:
                    return main(*args, **kwargs)
                finally:
                    output.flush()
        except BrokenPipeError:
            _discard_output()
            return EXIT_CODE
        except KeyboardInterrupt:
            after_echo = "\n" if sys.stderr.isatty() else ""  # of ^C
            print(f"{after_echo}Interrupted.", file=sys.stderr)
            return INTERRUPTED
        except _Unwritable as error:
            message = f"Standard output cannot be written: {error}."
            _discard_output()
        except MemoryError:
            message = "Out of memory."
        print(f"error: {message}", file=sys.stderr)
        return 1

    return wrapper


def _use_utf8() -> None:
    """Standard output and errors become UTF-8, as those of the programs in C++. By default pipes
    and files have a code page on Windows, which lacks most characters.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=stream.errors)


def _discard_output() -> None:
    """Redirects the buffered rest, which the interpreter flushes at exit, to the null device."""
    with suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
