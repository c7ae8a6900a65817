"""The names an expression may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from codegen.expr.types import Expr, Variable


@dataclass(frozen=True, slots=True)
class Scope:
    """The names an expression may use, some of which stand for other expressions. `storages`:
    whether `x.storage` is known already."""

    variables: Mapping[str, Variable]
    storages: bool = False
    values: Mapping[str, Expr] = field(default_factory=dict)

    def with_variable(self, variable: Variable) -> Scope:
        """The scope with one name more."""
        return replace(self, variables={**self.variables, variable.name: variable})

    def with_value(self, name: str, value: Expr) -> Scope:
        """The scope with a name more, which stands for `value`."""
        return replace(self, values={**self.values, name: value})
