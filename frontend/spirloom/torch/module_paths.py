"""The module that a call is in, from the stack of modules that torch keeps."""

from __future__ import annotations

import re
from collections.abc import Sequence

# What torch calls the whole model; Dynamo gives it the name of a variable.
_ROOT = re.compile(r"^(L__self__|L\['\w+'\]|_export_root)(\.|$)")
# What torch writes of nodes that no module makes.
_NONE = "_empty_nn_module_stack_from_metadata_hook"


def module_path(paths: Sequence[str]) -> str:
    """The innermost module's path, e.g. layers.0.attention.q_proj; empty for the whole model."""
    path = paths[-1] if paths else ""
    return "" if path == _NONE else _ROOT.sub("", path, count=1)
