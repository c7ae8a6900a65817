"""What the rules of the expression language share: positions, errors and conversions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from codegen.errors import Position, SpecError, one_of
from codegen.expr import operations as ops
from codegen.expr.evaluate import evaluate
from codegen.expr.scope import Scope
from codegen.expr.types import Apply, EvalError, Expr, Kind, Literal, Operation, Variable, names_of
from codegen.vocabulary import DType, Storage
from codegen.yaml_reader import Scalar

# The typed form of one kind of Python expression. Fails at its column if it has no meaning.
Rule = Callable[["Checker", Any], Expr]


@dataclass(frozen=True, slots=True)
class Checker:
    """Types the trees of one text, which begins `shift` characters after `where`."""

    where: Scalar
    shift: int
    scope: Scope
    rules: Mapping[type[ast.expr], Rule]

    def with_variable(self, variable: Variable) -> Checker:
        """The checker of an expression that knows one name more."""
        return replace(self, scope=self.scope.with_variable(variable))

    def position(self, tree: ast.AST) -> Position:
        """Where the tree's text begins."""
        return self.where.at(self.shift + getattr(tree, "col_offset", 0))

    def fail(self, tree: ast.AST, message: str) -> SpecError:
        """The error at the tree's text."""
        return SpecError.at(self.position(tree), message)

    def check(self, tree: ast.expr) -> Expr:
        """The typed form of the tree."""
        rule = self.rules.get(type(tree))
        if rule is None:
            what = type(tree).__name__.lower()
            raise self.fail(tree, f"This ({what}) is not part of the expression language.")
        return rule(self, tree)

    def expect(self, value: Expr, kinds: tuple[Kind, ...], tree: ast.expr) -> Expr:
        """The value as one of the kinds, converted where the language allows."""
        if not kinds or value.kind in kinds:
            return value
        for kind in kinds:
            converted = self.convert(value, kind, tree)
            if converted is not None:
                return converted
        wanted = " or ".join(kinds)
        raise self.fail(tree, f"Expression is of type {value.kind}; {wanted} is expected here.")

    def convert(self, value: Expr, kind: Kind, tree: ast.expr) -> Expr | None:
        """The value as that kind, or None if the language does not convert it."""
        if value.kind is kind:
            return value
        if kind is Kind.FLOAT and value.kind is Kind.INT:
            return self.apply(tree, Kind.FLOAT, ops.TO_FLOAT, value)
        if value.kind is Kind.STR and kind in (Kind.DTYPE, Kind.STORAGE):
            if isinstance(value, Literal):
                return self._word(str(value.value), kind, tree)
            if kind is Kind.DTYPE:
                return self.apply(tree, kind, ops.TO_DTYPE, value)
        return None

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
        """The operation; computed at once when its operands are literals."""
        node = Apply(kind, operation, operands, length, names_of(*operands))
        if not all(isinstance(x, Literal) for x in operands):
            return node
        try:
            value = evaluate(node, {})
        except EvalError as error:
            raise self.fail(tree, f"Expression has no value: {error}") from None
        return Literal(kind, value, len(value) if isinstance(value, tuple) else None)
