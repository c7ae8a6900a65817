"""Text → typed tree. Syntax and type errors are reported at their columns."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from spec_model.activations import ACTIVATION_CODES, RNN_ACTIVATION_CODES
from spec_model.errors import SpecError, one_of
from spec_model.expr import intervals
from spec_model.expr import operations as ops
from spec_model.expr.checker import Checker, Rule
from spec_model.expr.evaluation import evaluate
from spec_model.expr.functions import expanded
from spec_model.expr.types import (
    INT64_MAX,
    MAX_INTS,
    Comprehension,
    Conditional,
    Expr,
    Kind,
    ListOf,
    Literal,
    Logic,
    Operation,
    Origin,
    Scope,
    Variable,
    names_of,
)
from spec_model.yaml_reader import Scalar

_MAX_LENGTH = 1000
# Codes by name, as in templates: activations.gelu.
_TABLES = {"activations": ACTIVATION_CODES, "rnn_activations": RNN_ACTIVATION_CODES}


def parse(text: Scalar, scope: Scope, *expected: Kind) -> Expr:
    """The typed tree of an expression. Its kind must be one of `expected`, if there are any."""
    return parse_text(text.text, text, scope, *expected)


def parse_text(source: str, where: Scalar, scope: Scope, *expected: Kind) -> Expr:
    """As `parse`, for text that begins at the position of `where`."""
    stripped = source.strip()
    shift = len(source) - len(source.lstrip())
    checker = Checker(where, shift, scope, _RULES)
    try:
        tree = parse_tree(stripped, where, shift)
        return checker.expect(checker.check(tree), expected, tree)
    except (RecursionError, MemoryError):
        raise SpecError.at(where.at(0), "Expression is nested too deeply.") from None


def parse_tree(text: str, where: Scalar, shift: int = 0) -> ast.expr:
    """The Python syntax tree of an expression."""
    if not text:
        raise SpecError.at(where.at(0), "An expression is expected here.")
    if len(text) > _MAX_LENGTH:
        message = f"Expression of {len(text)} characters is longer than {_MAX_LENGTH}."
        raise SpecError.at(where.at(0), message + " Name parts of it under `let`.")
    if not text.isascii():
        offset = next(i for i, char in enumerate(text) if not char.isascii())
        message = f"Character '{text[offset]}' is not part of the expression language."
        raise SpecError.at(where.at(offset + shift), message)
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        # An error without an offset on this line is at the end of the text.
        first_line = error.lineno in (None, 1)
        offset = error.offset - 1 if error.offset and first_line else len(text)
        message = f"Expression does not parse: {error.msg}."
        raise SpecError.at(where.at(shift + offset), message) from None
    except ValueError as error:
        raise SpecError.at(where.at(shift), f"Expression does not parse: {error}.") from None


def _constant(checker: Checker, tree: ast.Constant) -> Expr:
    match tree.value:
        case bool():
            return Literal(Kind.BOOL, tree.value)
        case int():
            if tree.value > INT64_MAX:
                raise checker.fail(tree, f"Integer {tree.value} exceeds 64 bits.")
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
            message = f"Name '{tree.id}' is ambiguous: it is also a constant of the kernel, which "
            raise checker.fail(tree, message + "hides it in templates; rename the constant.")
        return variable
    if tree.id in checker.scope.values:
        return checker.scope.values[tree.id]
    if tree.id == "inf":
        return Literal(Kind.FLOAT, float("inf"))
    known = one_of([*checker.scope.variables, *checker.scope.values])
    raise checker.fail(tree, f"Name '{tree.id}' is unknown here; known names are: {known}.")


def _attribute(checker: Checker, tree: ast.Attribute) -> Expr:
    if isinstance(tree.value, ast.Name) and tree.value.id in _TABLES:
        return _code(checker, tree, tree.value.id)
    value = checker.check(tree.value)
    if value.kind is not Kind.TENSOR or tree.attr not in ops.ATTRIBUTES:
        known = one_of(ops.ATTRIBUTES) if value.kind is Kind.TENSOR else "(none)"
        message = f"Attribute '{tree.attr}' is unknown for {value.kind}; known are: {known}."
        raise checker.fail(tree, message)
    if tree.attr == "storage" and not checker.scope.storages:
        message = "Storages are not known when this expression is evaluated."
        raise checker.fail(tree, message + " Use them in axes, push, constants or grid.")
    kind, operation = ops.ATTRIBUTES[tree.attr]
    return checker.apply(tree, kind, operation, value)


def _code(checker: Checker, tree: ast.Attribute, table: str) -> Expr:
    codes = _TABLES[table]
    if tree.attr not in codes:
        message = f"'{tree.attr}' is not one of {table}: {one_of(codes)}."
        raise checker.fail(tree, message)
    return Literal(Kind.INT, codes[tree.attr])


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
        message = f"Name '{loop.target.id}' is in use; choose another."
        raise checker.fail(loop.target, message)
    if len(loop.ifs) > 1:
        raise checker.fail(
            loop.ifs[1], "A comprehension has at most one `if`; combine conditions with `and`."
        )
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
    if isinstance(tree.op, ast.USub) and checker.computes_intervals(value):
        operand = checker.expect(value, (Kind.INTERVAL,), tree.operand)
        return checker.apply(tree, Kind.INTERVAL, intervals.NEGATE, operand)
    if isinstance(tree.op, ast.USub) and value.kind in ops.NEGATE:
        return checker.apply(tree, value.kind, ops.NEGATE[value.kind], value)
    raise checker.fail(tree, f"This operator does not apply to {value.kind}.")


def _binary(checker: Checker, tree: ast.BinOp) -> Expr:
    symbol = _BINARY.get(type(tree.op))
    if symbol is None:
        what = type(tree.op).__name__.lower()
        raise checker.fail(tree, f"Operator '{what}' is not part of the expression language.")
    left, right = checker.check(tree.left), checker.check(tree.right)
    if checker.computes_intervals(left, right) and symbol in intervals.BINARY:
        return _of_intervals(
            checker, tree, intervals.BINARY[symbol], (left, right), (tree.left, tree.right)
        )
    overloads = ops.BINARY[symbol]
    kinds = {left.kind, right.kind}
    kind = left.kind if len(kinds) == 1 else Kind.FLOAT
    if symbol == "/" and kinds == {Kind.INT}:
        kind = Kind.FLOAT
    if kind not in overloads or (len(kinds) > 1 and kinds != {Kind.INT, Kind.FLOAT}):
        message = f"Operator '{symbol}' does not apply to {left.kind} and {right.kind}."
        raise checker.fail(tree, message)
    result, operation = overloads[kind]
    operands = [checker.expect(x, (kind,), t) for x, t in ((left, tree.left), (right, tree.right))]
    length = None
    if kind is Kind.INTS and left.length is not None and right.length is not None:
        length = left.length + right.length
    return checker.apply(tree, result, operation, *operands, length=length)


def _of_intervals(
    checker: Checker,
    tree: ast.expr,
    operation: Operation,
    values: Sequence[Expr],
    trees: Sequence[ast.expr],
) -> Expr:
    """An operation of intervals; numbers and tensors are converted."""
    pairs = zip(values, trees, strict=True)
    operands = [checker.expect(value, (Kind.INTERVAL,), at) for value, at in pairs]
    return checker.apply(tree, Kind.INTERVAL, operation, *operands)


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
    if then.kind is not otherwise.kind and checker.computes_intervals(then, otherwise):
        then = checker.expect(then, (Kind.INTERVAL,), tree.body)
        otherwise = checker.expect(otherwise, (Kind.INTERVAL,), tree.orelse)
    elif then.kind is not otherwise.kind:
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


def _call(checker: Checker, tree: ast.Call) -> Expr:
    name = tree.func.id if isinstance(tree.func, ast.Name) else None
    of_intervals = intervals.FUNCTIONS if checker.scope.bounds else {}
    functions = list(dict.fromkeys([*ops.FUNCTIONS, *of_intervals, *checker.scope.functions]))
    if name is None or name not in functions:
        what = f"Function '{name}' is unknown" if name else "Only functions can be called"
        known = one_of(functions)
        raise checker.fail(tree.func, f"{what}; known functions are: {known}.")
    if tree.keywords:
        raise checker.fail(tree.keywords[0], "Functions do not accept keyword arguments.")
    values = [checker.check(t) for t in tree.args]
    if name in checker.scope.functions:
        return expanded(checker, checker.scope.functions[name], tree, values, parse_tree)
    if name in of_intervals and (name not in ops.FUNCTIONS or checker.computes_intervals(*values)):
        return _interval_call(checker, tree, name, values)
    if name in ops.VARIADIC and len(values) > 1:
        return _variadic(checker, tree, name, values)
    for overload in ops.FUNCTIONS[name]:
        if tuple(v.kind for v in values) == overload.parameters:
            operands = tuple(values)
            length = ops.result_length(name, operands)
            return checker.apply(
                tree, overload.result, overload.operation, *operands, length=length
            )
    given = ", ".join(v.kind for v in values)
    overloads = " or ".join(f"{name}({', '.join(f.parameters)})" for f in ops.FUNCTIONS[name])
    raise checker.fail(
        tree, f"Function {name}({given}) does not exist; overloads are: {overloads}."
    )


def _interval_call(checker: Checker, tree: ast.Call, name: str, values: list[Expr]) -> Expr:
    count, operation = intervals.FUNCTIONS[name]
    if len(values) != count:
        message = f"Function {name} of intervals has {count} operands, not {len(values)}."
        raise checker.fail(tree, message)
    return _of_intervals(checker, tree, operation, values, tree.args)


def _variadic(checker: Checker, tree: ast.Call, name: str, values: list[Expr]) -> Expr:
    kind = Kind.FLOAT if any(v.kind is Kind.FLOAT for v in values) else Kind.INT
    operands = [checker.expect(v, (kind,), t) for v, t in zip(values, tree.args, strict=True)]
    result = operands[0]
    for operand in operands[1:]:
        result = checker.apply(tree, kind, ops.VARIADIC[name][kind], result, operand)
    return result


_RULES: Mapping[type[ast.expr], Rule] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.List: _list_of,
    ast.ListComp: _comprehension,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.IfExp: _conditional,
    ast.Call: _call,
}
