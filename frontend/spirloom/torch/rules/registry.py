"""The registry of import rules: the function that builds each torch operator."""

from __future__ import annotations

from collections.abc import Callable

from spirloom.errors import Unsupported
from spirloom.torch.context import CallContext
from spirloom.torch.values import Item


class NoOperator(Unsupported):
    """A call of what neither a spec nor a rule is for."""

    def __init__(self, target: str) -> None:
        if target.startswith("aten."):
            message = (
                "there is no operator for it; decompose it before saving: "
                "spirloom.torch.decompose(exported), or exported.run_decompositions()"
            )
        else:
            message = (
                "there is no operator of that name: give the folder of its spec with --spec-dir "
                "DIR, or decompose it before saving with exported.run_decompositions()"
            )
        super().__init__(message)


class Unknown(Exception):
    """A value that a call which cannot be imported would have given."""


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
