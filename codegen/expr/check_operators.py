"""The typed forms of operators, comparisons and conditionals."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from codegen.expr import operations as ops
from codegen.expr.checker import Checker, Rule
from codegen.expr.types import Conditional, Expr, Kind, Literal, Logic, names_of

_BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_COMPARE = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


def _unary(checker: Checker, tree: ast.UnaryOp) -> Expr:
    value = checker.check(tree.operand)
    if isinstance(tree.op, ast.Not):
        operand = checker.expect(value, (Kind.BOOL,), tree.operand)
        return checker.apply(tree, Kind.BOOL, ops.NOT, operand)
    if isinstance(tree.op, ast.USub) and value.kind in ops.NEGATE:
        return checker.apply(tree, value.kind, ops.NEGATE[value.kind], value)
    raise checker.fail(tree, f"This operator does not apply to {value.kind}.")


def _binary(checker: Checker, tree: ast.BinOp) -> Expr:
    symbol = _BINARY.get(type(tree.op))
    if symbol is None:
        what = type(tree.op).__name__.lower()
        raise checker.fail(tree, f"Operator '{what}' is not part of the expression language.")
    left, right = checker.check(tree.left), checker.check(tree.right)
    forms = ops.BINARY[symbol]
    kinds = {left.kind, right.kind}
    kind = left.kind if len(kinds) == 1 else Kind.FLOAT
    if symbol == "/" and kinds == {Kind.INT}:
        kind = Kind.FLOAT
    if kind not in forms or (len(kinds) > 1 and kinds != {Kind.INT, Kind.FLOAT}):
        message = f"Operator '{symbol}' does not apply to {left.kind} and {right.kind}."
        raise checker.fail(tree, message)
    result, operation = forms[kind]
    operands = [checker.expect(x, (kind,), t) for x, t in ((left, tree.left), (right, tree.right))]
    length = None
    if kind is Kind.INTS and left.length is not None and right.length is not None:
        length = left.length + right.length
    return checker.apply(tree, result, operation, *operands, length=length)


def _compare(checker: Checker, tree: ast.Compare) -> Expr:
    trees = [tree.left, *tree.comparators]
    values = [checker.check(t) for t in trees]
    result: Expr | None = None
    for i, operator in enumerate(tree.ops):
        pair = _comparison(checker, operator, values[i], values[i + 1], trees[i], trees[i + 1])
        result = pair if result is None else _joined(True, result, pair)
    assert result is not None
    return result


def _comparison(
    checker: Checker, operator: ast.cmpop, left: Expr, right: Expr, at: ast.expr, right_at: ast.expr
) -> Expr:
    if isinstance(operator, ast.In | ast.NotIn):
        left = checker.expect(left, (Kind.INT,), at)
        right = checker.expect(right, (Kind.INTS,), right_at)
        result = checker.apply(at, Kind.BOOL, ops.CONTAINS, left, right)
        if isinstance(operator, ast.NotIn):
            return checker.apply(at, Kind.BOOL, ops.NOT, result)
        return result
    symbol = _COMPARE.get(type(operator))
    if symbol is None:
        raise checker.fail(at, "Operator 'is' is not part of the expression language; use ==.")
    kinds, operation = ops.COMPARISONS[symbol]
    if left == right and not isinstance(left, Literal) and left.kind in kinds:
        raise checker.fail(at, f"Both sides of '{symbol}' are the same.")
    for a, b, b_at in ((left, right, right_at), (right, left, at)):
        converted = checker.convert(b, a.kind, b_at)
        if converted is not None and a.kind in kinds:
            operands = (a, converted) if b is right else (converted, a)
            return checker.apply(at, Kind.BOOL, operation, *operands)
    raise checker.fail(at, f"Operator '{symbol}' does not apply to {left.kind} and {right.kind}.")


def _joined(is_and: bool, left: Expr, right: Expr) -> Expr:
    if isinstance(left, Literal):
        return right if bool(left.value) == is_and else left
    return Logic(is_and, left, right, names_of(left, right))


def _logic(checker: Checker, tree: ast.BoolOp) -> Expr:
    values = [checker.expect(checker.check(t), (Kind.BOOL,), t) for t in tree.values]
    result = values[-1]
    for value in reversed(values[:-1]):
        result = _joined(isinstance(tree.op, ast.And), value, result)
    return result


def _conditional(checker: Checker, tree: ast.IfExp) -> Expr:
    condition = checker.expect(checker.check(tree.test), (Kind.BOOL,), tree.test)
    then, otherwise = checker.check(tree.body), checker.check(tree.orelse)
    if then.kind is not otherwise.kind:
        converted = checker.convert(otherwise, then.kind, tree.orelse)
        if converted is not None:
            otherwise = converted
        else:
            then = checker.expect(then, (otherwise.kind,), tree.body)
    if isinstance(condition, Literal):
        return then if condition.value else otherwise
    length = then.length if then.length == otherwise.length else None
    names = names_of(condition, then, otherwise)
    return Conditional(then.kind, condition, then, otherwise, length, names)


RULES: Mapping[type[ast.expr], Rule] = {
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.IfExp: _conditional,
}
