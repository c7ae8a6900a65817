"""The typed forms of literals, names, what is taken out of a value, and lists."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from codegen.errors import one_of
from codegen.expr import operations as ops
from codegen.expr.checker import Checker, Rule
from codegen.expr.evaluate import evaluate
from codegen.expr.types import (
    INT64_MAX,
    MAX_INTS,
    Comprehension,
    Expr,
    Kind,
    ListOf,
    Literal,
    Origin,
    Variable,
    names_of,
)


def _constant(checker: Checker, tree: ast.Constant) -> Expr:
    match tree.value:
        case bool():
            return Literal(Kind.BOOL, tree.value)
        case int():
            if tree.value > INT64_MAX:
                raise checker.fail(tree, f"Integer {tree.value} does not fit 64 bits.")
            return Literal(Kind.INT, tree.value)
        case float():
            return Literal(Kind.FLOAT, tree.value)
        case str():
            return Literal(Kind.STR, tree.value)
    raise checker.fail(tree, f"{tree.value!r} is not part of the expression language.")


def _name(checker: Checker, tree: ast.Name) -> Expr:
    if tree.id in checker.scope.variables:
        variable = checker.scope.variables[tree.id]
        if checker.scope.values.get(tree.id, variable) != variable:
            message = f"Name '{tree.id}' means two things here, of which templates know the later "
            raise checker.fail(tree, message + "one, a constant of the kernel; rename it.")
        return variable
    if tree.id in checker.scope.values:
        return checker.scope.values[tree.id]
    if tree.id == "inf":
        return Literal(Kind.FLOAT, float("inf"))
    known = one_of([*checker.scope.variables, *checker.scope.values])
    raise checker.fail(tree, f"Name '{tree.id}' is unknown here; known names are: {known}.")


def _attribute(checker: Checker, tree: ast.Attribute) -> Expr:
    value = checker.check(tree.value)
    if value.kind is not Kind.TENSOR or tree.attr not in ops.ATTRIBUTES:
        known = one_of(ops.ATTRIBUTES) if value.kind is Kind.TENSOR else "(none)"
        message = f"Attribute '{tree.attr}' is unknown for {value.kind}; known are: {known}."
        raise checker.fail(tree, message)
    if tree.attr == "storage" and not checker.scope.storages:
        message = "Storages are not chosen yet when this expression is evaluated."
        raise checker.fail(tree, message + " Use it in axes, push, constants or grid.")
    kind, operation = ops.ATTRIBUTES[tree.attr]
    return checker.apply(tree, kind, operation, value)


def _subscript(checker: Checker, tree: ast.Subscript) -> Expr:
    value = checker.check(tree.value)
    if isinstance(tree.slice, ast.Slice):
        return _slice(checker, tree, tree.slice, checker.expect(value, (Kind.INTS,), tree.value))
    index = checker.expect(checker.check(tree.slice), (Kind.INT,), tree.slice)
    value = checker.expect(value, (Kind.INTS, Kind.TENSORS), tree.value)
    if value.kind is Kind.TENSORS:
        return checker.apply(tree, Kind.TENSOR, ops.INDEX_TENSORS, value, index)
    return checker.apply(tree, Kind.INT, ops.INDEX_INTS, value, index)


def _slice(checker: Checker, tree: ast.expr, bounds: ast.Slice, value: Expr) -> Expr:
    if bounds.step is not None:
        raise checker.fail(bounds.step, "Slices with a step are not part of the language.")
    ends: list[Expr] = []
    for bound, default in ((bounds.lower, 0), (bounds.upper, MAX_INTS)):
        if bound is None:
            ends.append(Literal(Kind.INT, default))
        else:
            ends.append(checker.expect(checker.check(bound), (Kind.INT,), bound))
    return checker.apply(tree, Kind.INTS, ops.SLICE, value, *ends)


def _list_of(checker: Checker, tree: ast.List) -> Expr:
    items = [checker.expect(checker.check(t), (Kind.INT,), t) for t in tree.elts]
    if len(items) > MAX_INTS:
        raise checker.fail(tree, f"List of {len(items)} is longer than the limit ({MAX_INTS}).")
    if all(isinstance(x, Literal) for x in items):
        values = tuple(evaluate(x, {}) for x in items)
        return Literal(Kind.INTS, values, len(values))  # type: ignore[arg-type]
    return ListOf(tuple(items), names_of(*items))


def _comprehension(checker: Checker, tree: ast.ListComp) -> Expr:
    loop = tree.generators[0]
    if len(tree.generators) != 1 or loop.is_async or not isinstance(loop.target, ast.Name):
        raise checker.fail(tree, "A comprehension has one `for NAME in INTS` and at most one `if`.")
    if loop.target.id in checker.scope.variables:
        message = f"Name '{loop.target.id}' has a meaning here already; choose another."
        raise checker.fail(loop.target, message)
    if len(loop.ifs) > 1:
        raise checker.fail(loop.ifs[1], "A comprehension has at most one `if`; join them by `and`.")
    iterable = checker.expect(checker.check(loop.iter), (Kind.INTS,), loop.iter)
    variable = Variable(Kind.INT, loop.target.id, Origin.LOOP)
    inner = checker.with_variable(variable)
    element = inner.expect(inner.check(tree.elt), (Kind.INT,), tree.elt)
    condition = None
    if loop.ifs:
        condition = inner.expect(inner.check(loop.ifs[0]), (Kind.BOOL,), loop.ifs[0])
    body = names_of(element) | (condition.names if condition else frozenset())
    names = iterable.names | (body - {variable.name})
    length = iterable.length if condition is None else None
    return Comprehension(variable, iterable, element, condition, length, names)


RULES: Mapping[type[ast.expr], Rule] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.List: _list_of,
    ast.ListComp: _comprehension,
}
