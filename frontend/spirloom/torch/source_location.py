"""The source line and the module path of a call, from torch's stack traces."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?P<rest>.*)', re.MULTILINE)
# Files of PyTorch itself, and code that it generates.
_OWN_FILE = re.compile(
    r"^<eval_with_key>|[/\\]torch[/\\](nn|_higher_order_ops|_export|fx|functional\.py)"
)


def location_suffix(trace: str) -> str:
    """The user's innermost frame, with the function, as a message's suffix; empty without a
    trace.
    """
    frame = _innermost(trace)
    return "" if frame is None else f' ("{frame["file"]}", line {frame["line"]}{frame["rest"]})'


def short_location(trace: str) -> str:
    """The user's innermost line for a graph file, e.g. llama/model.py:12, independent of the
    directory.
    """
    frame = _innermost(trace)
    if frame is None:
        return ""
    parts = re.split(r"[/\\]", frame["file"])
    return f"{'/'.join(parts[-2:])}:{frame['line']}"


def _innermost(trace: str) -> re.Match[str] | None:
    """The innermost frame outside of PyTorch, if there is one."""
    frames = list(_FRAME.finditer(trace))
    outside = [frame for frame in frames if not _OWN_FILE.search(frame["file"])]
    return next(reversed(outside or frames), None)


# Torch's names of the root module; Dynamo uses the name of a variable.
_ROOT = re.compile(r"^(L__self__|L\['\w+'\]|_export_root)(\.|$)")
# Torch's module path of nodes without a module.
_NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"


def module_path(paths: Sequence[str]) -> str:
    """The innermost module's path, e.g. layers.0.attention.q_proj; empty for the root module."""
    path = paths[-1] if paths else ""
    return "" if path == _NO_MODULE else _ROOT.sub("", path, count=1)
