"""Messages of a runtime go to Python's logging, under the name `spirloom`."""

from __future__ import annotations

import ctypes
import logging
from typing import Any

LOGGER = logging.getLogger("spirloom")
LEVELS = (logging.INFO, logging.WARNING, logging.ERROR)  # by spirloom_log_level

_LogFunction = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


def _log(level: int, message: bytes, _data: int | None) -> None:
    known = level if level < len(LEVELS) else -1
    LOGGER.log(LEVELS[known], "%s", message.decode(errors="replace"))


log_function: Any = _LogFunction(_log)  # never freed: any thread of a driver may call it
