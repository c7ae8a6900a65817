"""What the user's lists say of calls: which operators and modules may go to the device."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from spirloom.executorch.edge import operator_name
from spirloom.executorch.options import CompileOptions
from spirloom.ops import OpLibrary


class Lists:
    """The allow and block lists of an export."""

    def __init__(self, options: CompileOptions, library: OpLibrary) -> None:
        self._library = library
        allowed = options.operator_allowlist
        self._operators = None if allowed is None else self._names(allowed)
        self._no_operators = self._names(options.operator_blocklist)
        self._modules = options.nn_module_allowlist
        self._no_modules = options.nn_module_blocklist

    def reason(self, node: Any) -> str:
        """Why a node stays; "" if the lists let it go."""
        name = operator_name(node.target, self._library)
        if name in self._no_operators:
            return "operator_blocklist has its operator"
        if self._operators is not None and name not in self._operators:
            return "operator_allowlist has not its operator"
        blocked = _first(self._no_modules, node)
        if blocked is not None:
            return f"nn_module_blocklist has '{blocked}'"
        if self._modules is not None and _first(self._modules, node) is None:
            return "nn_module_allowlist has none of its modules"
        return ""

    def _names(self, entries: Iterable[Any]) -> frozenset[str]:
        return frozenset(
            operator_name(entry.removesuffix(".default") if isinstance(entry, str) else entry,
                          self._library)
            for entry in entries
        )  # fmt: skip


def _first(entries: Collection[str], node: Any) -> str | None:
    """The first entry that names one of the modules that a node is in."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    for entry in entries:
        if any(_names(entry, path, kind) for path, kind in stack):
            return entry
    return None


def _names(entry: str, path: str, kind: Any) -> bool:
    text = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    return path == entry or path.startswith(f"{entry}.") or entry in text
