"""Ends a program quietly when what reads its output has gone, as in `… | head`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

P = ParamSpec("P")

# What a shell reports for a program that SIGPIPE ended.
EXIT_CODE = 141


def ends_quietly(main: Callable[P, int]) -> Callable[P, int]:
    """The main function of a program; it returns EXIT_CODE if standard output is a closed pipe."""

    @wraps(main)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            try:
                return main(*args, **kwargs)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            # The interpreter flushes what is left when it ends, and would complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_CODE

    return wrapper
