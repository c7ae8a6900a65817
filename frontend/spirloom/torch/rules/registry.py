"""The registry of import rules: the function that imports each torch operator."""

from __future__ import annotations

from collections.abc import Callable

from spirloom.errors import Unsupported
from spirloom.registration import registers
from spirloom.torch.context import CallContext
from spirloom.torch.values import Item


class NoOperator(Unsupported):
    """A call of an operator that has neither a spec nor a rule."""

    def __init__(self, target: str, saved: bool) -> None:
        """`saved`: the program is an archive, which may contain operators that PyTorch can
        decompose; programs in process are decomposed."""
        if target.startswith("aten."):
            message = "there is no operator for it (page 'PyTorch import' of the documentation)"
            if not saved:
                message += "; spirloom.torch.compile leaves it to PyTorch"
            else:
                message += (
                    "; if PyTorch can decompose it, call spirloom.torch.decompose(exported), or "
                    "exported.run_decompositions(), before saving"
                )
        else:
            message = (
                "there is no operator of that name; pass the directory of its spec with --spec-dir "
                "DIR (spec_dirs= in Python)"
            )
            if saved:
                message += ", or call exported.run_decompositions() before saving"
        super().__init__(message)


class MissingValue(Exception):
    """A value of a call that cannot be imported."""


# Returns the result; a tuple for a list, Results for several results.
ImportRule = Callable[[CallContext], Item]
# By torch's names of operators, including overloads.
RULES: dict[str, ImportRule] = {}
imports = registers(RULES)


class Results(tuple[Item, ...]):
    """The results of an operator with several results."""
