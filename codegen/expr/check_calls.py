"""The typed forms of function calls."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from codegen.errors import one_of
from codegen.expr import operations as ops
from codegen.expr.checker import Checker, Rule
from codegen.expr.types import Expr, Kind


def _call(checker: Checker, tree: ast.Call) -> Expr:
    name = tree.func.id if isinstance(tree.func, ast.Name) else None
    if name is None or name not in ops.FUNCTIONS:
        what = f"Function '{name}' is unknown" if name else "Only functions can be called"
        raise checker.fail(tree.func, f"{what}; known functions are: {one_of(ops.FUNCTIONS)}.")
    if tree.keywords:
        raise checker.fail(tree.keywords[0], "Functions take no keyword arguments.")
    values = [checker.check(t) for t in tree.args]
    if name in ops.VARIADIC and len(values) > 1:
        return _variadic(checker, tree, name, values)
    for form in ops.FUNCTIONS[name]:
        if tuple(v.kind for v in values) == form.parameters:
            operands = tuple(values)
            length = ops.result_length(name, operands)
            return checker.apply(tree, form.result, form.operation, *operands, length=length)
    given = ", ".join(v.kind for v in values)
    forms = " or ".join(f"{name}({', '.join(f.parameters)})" for f in ops.FUNCTIONS[name])
    raise checker.fail(tree, f"Function {name}({given}) does not exist; it is {forms}.")


def _variadic(checker: Checker, tree: ast.Call, name: str, values: list[Expr]) -> Expr:
    kind = Kind.FLOAT if any(v.kind is Kind.FLOAT for v in values) else Kind.INT
    operands = [checker.expect(v, (kind,), t) for v, t in zip(values, tree.args, strict=True)]
    result = operands[0]
    for operand in operands[1:]:
        result = checker.apply(tree, kind, ops.VARIADIC[name][kind], result, operand)
    return result


RULES: Mapping[type[ast.expr], Rule] = {ast.Call: _call}
