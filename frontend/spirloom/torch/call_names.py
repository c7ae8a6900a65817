"""What calls of a program are called: themselves, and what they give."""

from __future__ import annotations

from collections.abc import Sequence

from spirloom.torch.program import Call


def flat_names(call: Call) -> list[str]:
    """The name of each result, those of lists one by one; "" of what nobody reads."""
    found: list[str] = []
    for result in call.results:
        found += list(result) if isinstance(result, tuple) else [result or ""]
    return found


def names_of(call: Call) -> list[str]:
    """The names of what a call gives."""
    return [name for name in flat_names(call) if name]


def node_name(call: Call, modules: Sequence[str]) -> str:
    """Of the nodes of a call: its module's path, and its own name where `modules`, which has those
    of all calls, tells of others."""
    own = next(iter(names_of(call)), call.target)
    if not call.module:
        return own
    return call.module if modules.count(call.module) == 1 else f"{call.module}/{own}"
