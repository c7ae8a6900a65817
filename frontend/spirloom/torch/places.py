"""Where in the user's source a call stands, from the stack trace that torch keeps of it."""

from __future__ import annotations

import re

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)', re.MULTILINE)


def place(trace: str) -> str:
    """The innermost line for a message, with the function; empty if the program does not tell."""
    lines = [line.strip() for line in trace.splitlines() if line.strip().startswith("File")]
    return f" ({lines[-1].removeprefix('File ')})" if lines else ""


def short_place(trace: str) -> str:
    """The innermost line for a graph file, e.g. llama/model.py:12: the same wherever it lies."""
    frames = list(_FRAME.finditer(trace))
    if not frames:
        return ""
    parts = re.split(r"[/\\]", frames[-1]["file"])
    return f"{'/'.join(parts[-2:])}:{frames[-1]['line']}"
