"""The source line and the module path of a call, from torch's stack traces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_FRAME = re.compile(r'^\s*File (?P<all>"(?P<file>[^"]+)", line (?P<line>\d+).*)$', re.MULTILINE)
# Files of PyTorch itself, such as torch/nn/modules/linear.py, and code that it generates.
_TORCH = re.compile(
    r"^<eval_with_key>|[/\\](site|dist)-packages[/\\]torch[/\\]"
    r"|[/\\]torch[/\\](nn|_higher_order_ops|_export|fx|functional\.py)"
)


@lru_cache(maxsize=1)  # a node's trace is read for its name, then for messages
def _frame(trace: str) -> re.Match[str] | None:
    """The innermost frame outside of torch; of torch, if there is no other."""
    frames = list(_FRAME.finditer(trace))
    outside = [frame for frame in frames if not _TORCH.search(frame["file"])]
    return next(reversed(outside or frames), None)


def location_suffix(trace: str) -> str:
    """The frame, with the function, as a message's suffix; empty without a trace."""
    frame = _frame(trace)
    return "" if frame is None else f" ({frame['all'].rstrip()})"


def short_location(trace: str) -> str:
    """The line for a graph file, e.g. llama/model.py:12, independent of the directory."""
    frame = _frame(trace)
    if frame is None:
        return ""
    parts = re.split(r"[/\\]", frame["file"])
    return f"{'/'.join(parts[-2:])}:{frame['line']}"


# Torch's names of the root module; Dynamo uses the name of a variable.
_ROOT = re.compile(r"^(L__self__|L\['\w+'\]|_export_root)(\.|$)")
# Torch's module path of nodes without a module.
_NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"


def module_path(paths: Sequence[str]) -> str:
    """The innermost module's path, e.g. layers.0.attention.q_proj; empty for the root module."""
    path = paths[-1] if paths else ""
    return "" if path == _NO_MODULE else _ROOT.sub("", path, count=1)
