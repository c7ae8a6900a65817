"""Patterns of calls as text: `x * aten.sigmoid(x)`.

A pattern is a Python expression:

- a name is a tensor, or an attribute where the operator's schema has one; the same name is the same
  value; names in `scalars` are constants with one element;
- numbers, `pi` and `inf` are constants with one element, or attributes;
- `aten.gelu(x, approximate="tanh")` is a call of the operator `aten.gelu`: arguments in the order
  of its schema, or by name. Arguments that are not given have their defaults; after `...` they may
  have any value;
- `+`, `-`, `*` and `/` are the ATen operators of tensors, in any order and grouping;
- arithmetic of one tensor and numbers, such as `x + 0.044715 * x**3`, is compared as a polynomial;
- `sqrt(x)`, `rsqrt(x)` and `square(x)` are these functions in any spelling, such as `x**0.5`;
- `once(aten.silu(x))` is a value that nothing else reads, which the rewrite therefore removes.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from math import inf, pi, sqrt

from spirloom.passes.patterns.algebra import simplified
from spirloom.passes.patterns.expressions import (
    FUNCTIONS,
    Call,
    Expression,
    Function,
    Group,
    InvalidPattern,
    Literal,
    Once,
    OneVariable,
    Variable,
)

NAMED = {"pi": pi, "inf": inf}


def parse(text: str, scalars: Collection[str] = ()) -> Expression:
    """The expression of a text. Raises InvalidPattern."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise InvalidPattern(f"'{text}', column {error.offset}: {error.msg}.") from error
    return _Parser(text, scalars).expression(tree.body)


class _Parser:
    def __init__(self, text: str, scalars: Collection[str]) -> None:
        self._text, self._scalars = text, scalars

    def expression(self, tree: ast.expr) -> Expression:
        match tree:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return Literal(value)
            case ast.List() | ast.Tuple():
                return Literal(self._literal(tree))
            case ast.Name(id=name) if name in NAMED:
                return Literal(NAMED[name])
            case ast.Name(id=name):
                return Variable(name, name in self._scalars)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return simplified(
                    Group(False, ((Literal(-1), False), (self.expression(operand), False)))
                )
            case ast.BinOp(left=left, op=operator, right=right):
                return self._arithmetic(
                    tree, operator, self.expression(left), self.expression(right)
                )
            case ast.Call(func=function, args=args, keywords=keywords):
                return self._call(function, args, keywords)
        raise self._error(tree, f"'{ast.unparse(tree)}' is not supported")

    def _arithmetic(
        self, tree: ast.expr, operator: ast.operator, a: Expression, b: Expression
    ) -> Expression:
        match operator:
            case ast.Add() | ast.Sub():
                return simplified(Group(True, ((a, False), (b, isinstance(operator, ast.Sub)))))
            case ast.Mult() | ast.Div():
                return simplified(Group(False, ((a, False), (b, isinstance(operator, ast.Div)))))
            case ast.Pow() if isinstance(b, Literal):
                return self._power(tree, a, b.value)
        raise self._error(tree, f"the operator of '{ast.unparse(tree)}' is not supported")

    def _power(self, tree: ast.expr, x: Expression, exponent: object) -> Expression:
        roots = {0.5: "sqrt", -0.5: "rsqrt", 2: "square"}
        if isinstance(x, Variable) and isinstance(exponent, int) and exponent > 0:
            return OneVariable(x, {exponent: 1.0})
        if isinstance(exponent, int | float) and exponent in roots:
            return Function(roots[exponent], x)
        raise self._error(tree, f"the exponent of '{ast.unparse(tree)}' is not supported")

    def _call(
        self, function: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]
    ) -> Expression:
        name = ast.unparse(function)
        if name in (*FUNCTIONS, "once"):
            if len(args) != 1 or keywords:
                raise self._error(function, f"{name} takes one argument")
            x = self.expression(args[0])
            if name == "once":
                return Once(x)
            return (
                Literal(_computed(name, x.value)) if isinstance(x, Literal) else Function(name, x)
            )
        if not isinstance(function, ast.Attribute):
            known = ", ".join((*FUNCTIONS, "once"))
            raise self._error(
                function,
                f"'{name}' is neither an operator, such as aten.{name}, nor one of {known}",
            )
        has_rest = bool(args) and isinstance(args[-1], ast.Constant) and args[-1].value is ...
        given = tuple(self.expression(each) for each in (args[:-1] if has_rest else args))
        named = {}
        for keyword in keywords:
            if keyword.arg is None:
                raise self._error(keyword.value, "** is not supported")
            named[keyword.arg] = self.expression(keyword.value)
        return Call(name, given, named, has_rest)

    def _literal(self, tree: ast.expr) -> object:
        try:
            return tuple(ast.literal_eval(tree))
        except ValueError as error:
            raise self._error(tree, "a list must hold constants") from error

    def _error(self, tree: ast.expr, what: str) -> InvalidPattern:
        return InvalidPattern(f"'{self._text}', column {tree.col_offset + 1}: {what}.")


def _computed(name: str, value: object) -> float:
    if not isinstance(value, int | float):
        raise InvalidPattern(f"{name}({value}): not a number.")
    if name == "square":
        return float(value * value)
    return sqrt(value) if name == "sqrt" else 1 / sqrt(value)
