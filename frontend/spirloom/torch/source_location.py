"""The source line and the module path of a call, from torch's stack traces."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)', re.MULTILINE)


def location_suffix(trace: str) -> str:
    """The innermost frame, with the function, as a message's suffix; empty without a trace."""
    lines = [line.strip() for line in trace.splitlines() if line.strip().startswith("File")]
    return f" ({lines[-1].removeprefix('File ')})" if lines else ""


def short_location(trace: str) -> str:
    """The innermost line for a graph file, e.g. llama/model.py:12, independent of the directory."""
    frames = list(_FRAME.finditer(trace))
    if not frames:
        return ""
    parts = re.split(r"[/\\]", frames[-1]["file"])
    return f"{'/'.join(parts[-2:])}:{frames[-1]['line']}"


# Torch's names of the root module; Dynamo uses the name of a variable.
_ROOT = re.compile(r"^(L__self__|L\['\w+'\]|_export_root)(\.|$)")
# Torch's module path of nodes without a module.
_NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"


def module_path(paths: Sequence[str]) -> str:
    """The innermost module's path, e.g. layers.0.attention.q_proj; empty for the root module."""
    path = paths[-1] if paths else ""
    return "" if path == _NO_MODULE else _ROOT.sub("", path, count=1)
