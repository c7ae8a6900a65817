"""Type checking of expressions: positions, errors and conversions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spec_model.errors import Position, SpecError, one_of
from spec_model.expr import intervals
from spec_model.expr import operations as ops
from spec_model.expr.evaluation import evaluate
from spec_model.expr.types import (
    Apply,
    EvalError,
    Expr,
    Kind,
    Literal,
    Operation,
    Scope,
    Variable,
    names_of,
)
from spec_model.vocabulary import DType, Storage
from spec_model.yaml_reader import Scalar

_BOUNDED = (Kind.INT, Kind.FLOAT, Kind.TENSOR)

# Converts one kind of Python expression to a typed tree. Fails at its column if it is invalid.
Rule = Callable[["Checker", Any], Expr]


@dataclass(frozen=True, slots=True)
class Checker:
    """Checks the trees of one text, which begins `shift` characters after `where`."""

    where: Scalar
    shift: int
    scope: Scope
    rules: Mapping[type[ast.expr], Rule]

    def with_variable(self, variable: Variable) -> Checker:
        """A checker with a further variable in scope."""
        return replace(self, scope=self.scope.with_variable(variable))

    def position(self, tree: ast.AST) -> Position:
        """The position of the tree's text."""
        return self.where.at(self.shift + getattr(tree, "col_offset", 0))

    def fail(self, tree: ast.AST, message: str) -> SpecError:
        """An error at the tree's text."""
        return SpecError.at(self.position(tree), message)

    def check(self, tree: ast.expr) -> Expr:
        """The typed tree."""
        rule = self.rules.get(type(tree))
        if rule is None:
            what = type(tree).__name__.lower()
            raise self.fail(tree, f"This ({what}) is not part of the expression language.")
        return rule(self, tree)

    def expect(self, value: Expr, kinds: tuple[Kind, ...], tree: ast.expr) -> Expr:
        """The value as one of the kinds, converted if the language allows it."""
        if not kinds or value.kind in kinds:
            return value
        for kind in kinds:
            converted = self.convert(value, kind, tree)
            if converted is not None:
                return converted
        wanted = " or ".join(kinds)
        raise self.fail(tree, f"Expression is of type {value.kind}; expected {wanted}.")

    def convert(self, value: Expr, kind: Kind, tree: ast.expr) -> Expr | None:
        """The value as that kind, or None if the language does not convert it."""
        if value.kind is kind:
            return value
        if kind is Kind.FLOAT and value.kind is Kind.INT:
            return self.apply(tree, Kind.FLOAT, ops.TO_FLOAT, value)
        if kind is Kind.INTERVAL and self.scope.bounds and value.kind in _BOUNDED:
            return self.apply(tree, Kind.INTERVAL, intervals.CONVERT, value)
        if value.kind is Kind.STR and kind in (Kind.DTYPE, Kind.STORAGE):
            if isinstance(value, Literal):
                return self._word(str(value.value), kind, tree)
            if kind is Kind.DTYPE:
                return self.apply(tree, kind, ops.TO_DTYPE, value)
        return None

    def computes_intervals(self, *values: Expr) -> bool:
        """Whether operators and functions of the values are those of intervals."""
        kinds = (Kind.TENSOR, Kind.INTERVAL)
        return self.scope.bounds and any(value.kind in kinds for value in values)

    def _word(self, text: str, kind: Kind, tree: ast.expr) -> Expr:
        words: type[DType] | type[Storage] = DType if kind is Kind.DTYPE else Storage
        if text not in words.__members__.values():
            what = "DType" if kind is Kind.DTYPE else "Storage"
            raise self.fail(tree, f"{what} '{text}' is not one of: {one_of(words)}.")
        return Literal(kind, words(text))

    def apply(
        self,
        tree: ast.expr,
        kind: Kind,
        operation: Operation,
        *operands: Expr,
        length: int | None = None,
    ) -> Expr:
        """The operation; folded if all operands are literals."""
        node = Apply(kind, operation, operands, length, names_of(*operands))
        if not all(isinstance(x, Literal) for x in operands):
            return node
        try:
            value = evaluate(node, {})
        except EvalError as error:
            raise self.fail(tree, f"Expression has no value: {error}") from None
        return Literal(kind, value, len(value) if isinstance(value, tuple) else None)
