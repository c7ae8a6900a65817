"""The module that a call is in, from the stack of modules that torch keeps."""

from __future__ import annotations

from collections.abc import Sequence

_ROOTS = ("L__self__", "L['self']", "_export_root")
# What torch writes of nodes that no module makes.
_NONE = "_empty_nn_module_stack_from_metadata_hook"


def module_path(paths: Sequence[str]) -> str:
    """The innermost module's path, e.g. layers.0.attention.q_proj; empty for the whole model."""
    path = paths[-1] if paths else ""
    for root in _ROOTS:
        if path in (root, _NONE):
            return ""
        path = path.removeprefix(f"{root}.")
    return path
