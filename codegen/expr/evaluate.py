"""The value of a typed tree."""

from __future__ import annotations

from typing import cast

from codegen.expr import semantics
from codegen.expr.types import (
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


def evaluate(expression: Expr, values: Environment) -> Value:
    """The value for the given names. Fails with EvalError where the language has none."""
    match expression:
        case Literal():
            return expression.value
        case Variable():
            return values[expression.name]
        case Apply():
            return expression.operation.evaluate(
                *(evaluate(x, values) for x in expression.operands)
            )
        case ListOf():
            return cast("tuple[int, ...]", tuple(evaluate(x, values) for x in expression.operands))
        case Logic():
            left = bool(evaluate(expression.left, values))
            return bool(evaluate(expression.right, values)) if left == expression.is_and else left
        case Conditional():
            chosen = (
                expression.then if evaluate(expression.condition, values) else expression.otherwise
            )
            return evaluate(chosen, values)
        case Comprehension():
            return _comprehension(expression, values)


def _comprehension(loop: Comprehension, values: Environment) -> tuple[int, ...]:
    result: list[int] = []
    for value in cast("tuple[int, ...]", evaluate(loop.iterable, values)):
        inner: dict[str, Value] = {**values}
        inner[loop.variable.name] = value
        if loop.condition is None or evaluate(loop.condition, inner):
            result.append(cast(int, evaluate(loop.element, inner)))
    return semantics.ints(result)


__all__ = ["EvalError", "evaluate"]
