"""The source line and the module path of a call, from torch's stack traces."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)', re.MULTILINE)


def place(trace: str) -> str:
    """The innermost line for a message, with the function; empty if the program does not tell."""
    lines = [line.strip() for line in trace.splitlines() if line.strip().startswith("File")]
    return f" ({lines[-1].removeprefix('File ')})" if lines else ""


def short_location(trace: str) -> str:
    """The innermost line for a graph file, e.g. llama/model.py:12: the same wherever it lies."""
    frames = list(_FRAME.finditer(trace))
    if not frames:
        return ""
    parts = re.split(r"[/\\]", frames[-1]["file"])
    return f"{'/'.join(parts[-2:])}:{frames[-1]['line']}"


# What torch calls the whole model; Dynamo gives it the name of a variable.
_ROOT = re.compile(r"^(L__self__|L\['\w+'\]|_export_root)(\.|$)")
# What torch writes of nodes that no module makes.
_NONE = "_empty_nn_module_stack_from_metadata_hook"


def module_path(paths: Sequence[str]) -> str:
    """The innermost module's path, e.g. layers.0.attention.q_proj; empty for the whole model."""
    path = paths[-1] if paths else ""
    return "" if path == _NONE else _ROOT.sub("", path, count=1)
