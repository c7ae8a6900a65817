"""Verification of kernels before their first use: the callback of Runtime(verify=True)."""

from __future__ import annotations

import ctypes
import logging
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from spirloom import child_python
from spirloom.runtime import abi

_LOGGER = logging.getLogger("spirloom")
_OK, _INTERNAL = 0, 7  # spirloom_status

_Function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(abi.VerifyRequest), ctypes.c_void_p)

# The options of `spirloom verify` for each runtime, by `data` - 1. Never freed: models that outlive
# their runtime call the function too.
_options: list[tuple[str, ...]] = []


def data_of(packs: Sequence[str | os.PathLike[str]], seconds: float) -> int:
    """The `verify_data` of a runtime with these shader packs next to the package's, and seconds for
    each kernel.
    """
    overrides = [text for pack in packs for text in ("--override", os.fsdecode(pack))]
    _options.append((*overrides, "--timeout", str(seconds)))
    return len(_options)


def callback() -> int | None:
    """The address of the function."""
    return ctypes.cast(_function, ctypes.c_void_p).value


def _verify(request: Any, data: int) -> int:
    """Runs `spirloom verify`, which gives each kernel a time limit."""
    given = request.contents
    kernels = (ctypes.c_char_p * given.kernel_count).from_address(given.kernels)
    command = ["-m", "spirloom.cli", "verify", "--device", given.device.decode()]
    command += ["--verdicts", os.fsdecode(given.verdicts), *_options[data - 1]]
    command += [text for name in kernels[:] for text in ("--variant", name.decode())]
    try:
        done = child_python.run(
            *command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
            errors="replace", check=False,
        )  # fmt: skip
    except OSError as error:
        _LOGGER.error("Kernels cannot be verified: %s", error)
        return _INTERNAL
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        _LOGGER.error("Kernels cannot be verified: %s", lines[-1])
        return _INTERNAL
    return _OK


_function: Any = _Function(_verify)
