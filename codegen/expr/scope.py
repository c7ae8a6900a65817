"""The names an expression may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from codegen.expr.types import Variable


@dataclass(frozen=True, slots=True)
class Scope:
    """The names an expression may use. `storages`: whether `x.storage` is known already."""

    variables: Mapping[str, Variable]
    storages: bool = False

    def with_variable(self, variable: Variable) -> Scope:
        """The scope with one name more."""
        return replace(self, variables={**self.variables, variable.name: variable})
