"""Short readable names of test cases, made from what they give their arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

from codegen import Op
from codegen.spec import CaseValue, TensorCase

LONGEST = 80


def case_name(op: Op, args: Mapping[str, CaseValue]) -> str:
    """E.g. `2x3x5_3x1_alpha0.5`: shapes of tensors, then what differs from its default."""
    parts = []
    for arg in op.args:
        value = args[arg.name]
        if arg.type.is_tensor:
            parts.append(_tensor(arg.name, value))
        elif value != (arg.default if arg.default_of is None else args[arg.default_of]):
            parts.append(_clean(f"{arg.name}{_value(value)}"))
    return "_".join(part for part in parts if part)[:LONGEST].rstrip("_") or "default"


class UniqueNames:
    """Numbers names that repeat: x, x_2, x_3."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def add(self, name: str) -> str:
        count = self._seen[name] = self._seen.get(name, 0) + 1
        return name if count == 1 else f"{name}_{count}"


def _tensor(name: str, value: CaseValue) -> str:
    if isinstance(value, TensorCase):
        return _value(value.shape) or "scalar"
    if isinstance(value, tuple):
        return "_".join(_tensor(name, item) for item in value if isinstance(item, TensorCase))
    return f"no_{name}"


def _value(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _clean(text: str) -> str:
    """Without the characters that mean something in a GoogleTest filter."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", text.replace("-", "m"))
