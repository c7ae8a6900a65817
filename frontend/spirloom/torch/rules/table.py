"""The table of rules: operators of torch → the function that builds what they become."""

from __future__ import annotations

from collections.abc import Callable

from spirloom.torch.context import CallContext
from spirloom.torch.values import Item

# Gives the result, or a tuple of the results of an operator with several (a list is one result).
ImportRule = Callable[[CallContext], Item]
RULES: dict[str, ImportRule] = {}


class Several(tuple[Item, ...]):
    """The results of an operator that has several."""


def imports(*targets: str) -> Callable[[ImportRule], ImportRule]:
    """Registers the decorated function for operators by torch's names, overload included."""

    def register(function: ImportRule) -> ImportRule:
        for target in targets:
            assert target not in RULES, target
            RULES[target] = function
        return function

    return register
