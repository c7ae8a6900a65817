"""Buffers that runs change. Graphs that import makes keep nothing from run to run."""

from __future__ import annotations

REASON = (
    "a buffer that runs change (state), such as a cache of keys and values; that is not supported "
    "in imported programs: make it an input and an output of the module, or run the program with "
    "ExecuTorch"
)


def reason_against(what: str) -> str:
    """Why a program with this buffer cannot be imported."""
    return f"{what} is {REASON}"
