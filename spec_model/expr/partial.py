"""The value of an expression of which only some names are known."""

from __future__ import annotations

from spec_model.expr.types import (
    Apply,
    Comprehension,
    Conditional,
    Environment,
    EvalError,
    Expr,
    ListOf,
    Literal,
    Logic,
    Value,
    Variable,
)


def known_value(expression: Expr, values: Environment) -> Value | None:
    """The value that the expression has for every value of the names that `values` lacks.

    None if it depends on them, or if that is not determined: operations need all their operands.
    """
    match expression:
        case Literal():
            return expression.value
        case Variable():
            return values.get(expression.name)
        case Apply():
            return _applied(expression, values)
        case Logic():
            return _logic(expression, values)
        case Conditional():
            condition = known_value(expression.condition, values)
            if condition is None:
                return None
            return known_value(expression.then if condition else expression.otherwise, values)
        case ListOf() | Comprehension():
            return None


def _applied(expression: Apply, values: Environment) -> Value | None:
    operands: list[Value] = []
    for operand in expression.operands:
        value = known_value(operand, values)
        if value is None:
            return None
        operands.append(value)
    try:
        return expression.operation.evaluate(*operands)
    except EvalError:
        return None


def _logic(expression: Logic, values: Environment) -> Value | None:
    sides = [known_value(expression.left, values), known_value(expression.right, values)]
    decisive = not expression.is_and
    if decisive in sides:
        return decisive
    return None if None in sides else not decisive
