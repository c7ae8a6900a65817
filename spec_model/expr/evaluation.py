"""Evaluates expressions.

Ints may be symbolic. Then a condition must have the same outcome at all sizes, or not change the
result; otherwise `evaluate` raises Undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from spec_model.expr.semantics import ints
from spec_model.expr.types import (
    Apply,
    Comprehension,
    Conditional,
    Environment,
    Expr,
    ListOf,
    Literal,
    Logic,
    Value,
    Variable,
)
from spec_model.symbolic import Undecided


def evaluate(expression: Expr, values: Environment) -> Value:
    """The value of an expression for the given names. Raises EvalError if it has no value."""
    return _EVALUATE[type(expression)](expression, values)


def _literal(expression: Literal, _: Environment) -> Value:
    return expression.value


def _variable(expression: Variable, values: Environment) -> Value:
    try:
        return values[expression.name]
    except KeyError:
        message = f"'{expression.name}' has no formula for all sizes."
        raise Undecided(message) from None


def _apply(expression: Apply, values: Environment) -> Value:
    operands = [_EVALUATE[type(x)](x, values) for x in expression.operands]
    return expression.operation.evaluate(*operands)


def _list_of(expression: ListOf, values: Environment) -> Value:
    items = [_EVALUATE[type(x)](x, values) for x in expression.operands]
    return cast("tuple[int, ...]", tuple(items))


def _logic(expression: Logic, values: Environment) -> Value:
    try:
        left = bool(evaluate(expression.left, values))
    except Undecided:
        return _decided_by_right(expression, values)
    return bool(evaluate(expression.right, values)) if left == expression.is_and else left


def _conditional(expression: Conditional, values: Environment) -> Value:
    try:
        condition = evaluate(expression.condition, values)
    except Undecided:
        return _common_value(expression, values)
    return evaluate(expression.then if condition else expression.otherwise, values)


def _decided_by_right(expression: Logic, values: Environment) -> bool:
    """The value if the right side alone decides it. The left side is undecided."""
    if bool(evaluate(expression.right, values)) == expression.is_and:
        raise Undecided("A condition is true at some sizes and false at others.")
    return not expression.is_and


def _common_value(expression: Conditional, values: Environment) -> Value:
    """The value if both branches have it. The condition is undecided."""
    then, otherwise = (evaluate(x, values) for x in (expression.then, expression.otherwise))
    if then != otherwise:
        raise Undecided("A condition is true at some sizes and false at others.")
    return then


def _comprehension(loop: Comprehension, values: Environment) -> tuple[int, ...]:
    result: list[int] = []
    for value in cast("tuple[int, ...]", evaluate(loop.iterable, values)):
        inner: dict[str, Value] = {**values}
        inner[loop.variable.name] = value
        if loop.condition is None or evaluate(loop.condition, inner):
            result.append(cast(int, evaluate(loop.element, inner)))
    return ints(result)


_EVALUATE: Mapping[type, Callable[[Any, Environment], Value]] = {
    Literal: _literal,
    Variable: _variable,
    Apply: _apply,
    ListOf: _list_of,
    Logic: _logic,
    Conditional: _conditional,
    Comprehension: _comprehension,
}
