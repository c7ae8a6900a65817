"""Functions that a spec defines: calls are replaced by their expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

from spec_model.errors import Diagnostic, SpecError
from spec_model.expr.checker import Checker
from spec_model.expr.types import (
    Apply,
    Comprehension,
    Conditional,
    Expr,
    Function,
    ListOf,
    Logic,
)

_MAX_NODES = 10_000


def expanded(
    checker: Checker,
    function: Function,
    call: ast.Call,
    values: Sequence[Expr],
    parse_tree: Callable[..., ast.expr],
) -> Expr:
    """The function's expression, with the values instead of its parameters. Its errors contain the
    position of the call."""
    if len(values) != len(function.parameters):
        message = f"{function} has {len(values)} arguments; expected {len(function.parameters)}."
        raise checker.fail(call, message)
    function.calls.append(checker.position(call))
    variables = checker.scope.variables
    scope = replace(
        checker.scope,
        variables={name: v for name, v in variables.items() if name not in function.parameters},
        values=dict(zip(function.parameters, values, strict=True)),
        functions=function.known,
    )
    body = function.body
    shift = len(body.text) - len(body.text.lstrip())
    try:
        tree = parse_tree(body.text.strip(), body, shift)
        result = replace(checker, where=body, shift=shift, scope=scope).check(tree)
    except SpecError as error:
        suffix = f" (In {function}, called at {checker.position(call)}.)"
        raise SpecError(
            Diagnostic(d.position, d.message + suffix) for d in error.diagnostics
        ) from None
    if _nodes(result, {}) > _MAX_NODES:
        message = f"The calls expand to more than {_MAX_NODES} operations; define parts by `let`."
        raise checker.fail(call, message)
    return result


def _nodes(value: Expr, known: dict[int, int]) -> int:
    """The size of an expression, whose parts may occur several times."""
    if id(value) not in known:
        known[id(value)] = 1 + sum(_nodes(part, known) for part in _parts(value))
    return known[id(value)]


def _parts(value: Expr) -> Sequence[Expr]:
    match value:
        case Apply() | ListOf():
            return value.operands
        case Logic():
            return value.left, value.right
        case Conditional():
            return value.condition, value.then, value.otherwise
        case Comprehension(condition=None):
            return value.iterable, value.element
        case Comprehension(condition=condition) if condition is not None:
            return value.iterable, value.element, condition
    return ()
