"""Short readable names of test cases, made from what they give their arguments."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

LONGEST = 80
LIMITS = {"dtypes", "storages", "kernel"}  # keys of a case that are no arguments


def case_name(test: Mapping[str, object], tensors: Collection[str]) -> str:
    """E.g. `2x3x5_3x1_alpha0.5`: the shapes of `tensors`, other values after their names."""
    parts = [
        _tensor(name, value) if name in tensors else _clean(f"{name}{_value(value)}")
        for name, value in test.items()
        if name not in LIMITS
    ]
    return "_".join(parts)[:LONGEST].rstrip("_") or "default"


class UniqueNames:
    """Numbers names that repeat: x, x_2, x_3."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def add(self, name: str) -> str:
        count = self._seen[name] = self._seen.get(name, 0) + 1
        return name if count == 1 else f"{name}_{count}"


def _tensor(name: str, value: object) -> str:
    if value is None:
        return f"no_{name}"
    if isinstance(value, Mapping):
        return _tensor(name, value.get("shape")) + ("_constant" if value.get("constant") else "")
    assert isinstance(value, list | tuple)
    if value and not isinstance(value[0], int):
        return "_and_".join(_tensor(name, item) for item in value)
    return _value(value) or "scalar"


def _value(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _clean(text: str) -> str:
    """Without the characters that mean something in a GoogleTest filter."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", text.replace("-", "m"))
