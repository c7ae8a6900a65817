"""Text → typed tree. Whatever does not parse or type-check is reported at its column."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from codegen.errors import Position, SpecError, one_of
from codegen.expr import operations as ops
from codegen.expr.evaluate import evaluate
from codegen.expr.types import (
    INT64_MAX,
    MAX_INTS,
    Apply,
    Comprehension,
    Conditional,
    EvalError,
    Expr,
    Kind,
    ListOf,
    Literal,
    Logic,
    Operation,
    Origin,
    Variable,
    names_of,
)
from codegen.vocabulary import DType, Storage
from codegen.yaml_reader import Scalar

_MAX_LENGTH = 1000
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


@dataclass(frozen=True, slots=True)
class Scope:
    """The names an expression may use. `storages`: whether `x.storage` is known already."""

    variables: Mapping[str, Variable]
    storages: bool = False

    def with_variable(self, variable: Variable) -> Scope:
        """The scope with one name more."""
        return replace(self, variables={**self.variables, variable.name: variable})


def parse(text: Scalar, scope: Scope, *expected: Kind) -> Expr:
    """The typed tree of an expression whose type is one of `expected` (none: any)."""
    return parse_text(text.text, text, scope, *expected)


def parse_text(source: str, where: Scalar, scope: Scope, *expected: Kind) -> Expr:
    """As `parse`, for text that begins where `where` does."""
    stripped = source.strip()
    shift = len(source) - len(source.lstrip())
    checker = _Checker(where, shift, scope)
    try:
        tree = parse_tree(stripped, where, shift)
        return checker.expect(checker.check(tree), expected, tree)
    except (RecursionError, MemoryError):
        raise SpecError.at(where.at(0), "Expression is nested too deeply.") from None


def parse_tree(text: str, where: Scalar, shift: int = 0) -> ast.expr:
    """Python's tree of an expression."""
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
        # Without an offset on this line, the text ends too early.
        first_line = error.lineno in (None, 1)
        offset = error.offset - 1 if error.offset and first_line else len(text)
        message = f"Expression does not parse: {error.msg}."
        raise SpecError.at(where.at(shift + offset), message) from None
    except ValueError as error:
        raise SpecError.at(where.at(shift), f"Expression does not parse: {error}.") from None


class _Checker:
    def __init__(self, where: Scalar, shift: int, scope: Scope) -> None:
        self._where = where
        self._shift = shift
        self._scope = scope

    def position(self, tree: ast.AST) -> Position:
        return self._where.at(self._shift + getattr(tree, "col_offset", 0))

    def fail(self, tree: ast.AST, message: str) -> SpecError:
        return SpecError.at(self.position(tree), message)

    def check(self, tree: ast.expr) -> Expr:
        method = _METHODS.get(type(tree))
        if method is None:
            what = type(tree).__name__.lower()
            raise self.fail(tree, f"This ({what}) is not part of the expression language.")
        return method(self, tree)

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

    def constant(self, tree: ast.Constant) -> Expr:
        match tree.value:
            case bool():
                return Literal(Kind.BOOL, tree.value)
            case int():
                if tree.value > INT64_MAX:
                    raise self.fail(tree, f"Integer {tree.value} does not fit 64 bits.")
                return Literal(Kind.INT, tree.value)
            case float():
                return Literal(Kind.FLOAT, tree.value)
            case str():
                return Literal(Kind.STR, tree.value)
        raise self.fail(tree, f"{tree.value!r} is not part of the expression language.")

    def name(self, tree: ast.Name) -> Expr:
        if tree.id in self._scope.variables:
            return self._scope.variables[tree.id]
        if tree.id == "inf":
            return Literal(Kind.FLOAT, float("inf"))
        known = one_of(self._scope.variables)
        raise self.fail(tree, f"Name '{tree.id}' is unknown here; known names are: {known}.")

    def unary(self, tree: ast.UnaryOp) -> Expr:
        value = self.check(tree.operand)
        if isinstance(tree.op, ast.Not):
            operand = self.expect(value, (Kind.BOOL,), tree.operand)
            return self.apply(tree, Kind.BOOL, ops.NOT, operand)
        if isinstance(tree.op, ast.USub) and value.kind in ops.NEGATE:
            return self.apply(tree, value.kind, ops.NEGATE[value.kind], value)
        raise self.fail(tree, f"This operator does not apply to {value.kind}.")

    def binary(self, tree: ast.BinOp) -> Expr:
        symbol = _BINARY.get(type(tree.op))
        if symbol is None:
            what = type(tree.op).__name__.lower()
            raise self.fail(tree, f"Operator '{what}' is not part of the expression language.")
        left, right = self.check(tree.left), self.check(tree.right)
        forms = ops.BINARY[symbol]
        kinds = {left.kind, right.kind}
        kind = left.kind if len(kinds) == 1 else Kind.FLOAT
        if symbol == "/" and kinds == {Kind.INT}:
            kind = Kind.FLOAT
        if kind not in forms or (len(kinds) > 1 and kinds != {Kind.INT, Kind.FLOAT}):
            message = f"Operator '{symbol}' does not apply to {left.kind} and {right.kind}."
            raise self.fail(tree, message)
        result, operation = forms[kind]
        operands = [self.expect(x, (kind,), t) for x, t in ((left, tree.left), (right, tree.right))]
        length = None
        if kind is Kind.INTS and left.length is not None and right.length is not None:
            length = left.length + right.length
        return self.apply(tree, result, operation, *operands, length=length)

    def compare(self, tree: ast.Compare) -> Expr:
        trees = [tree.left, *tree.comparators]
        values = [self.check(t) for t in trees]
        result: Expr | None = None
        for i, operator in enumerate(tree.ops):
            pair = self._comparison(operator, values[i], values[i + 1], trees[i], trees[i + 1])
            result = pair if result is None else self._logic(True, result, pair)
        assert result is not None
        return result

    def _comparison(
        self, operator: ast.cmpop, left: Expr, right: Expr, at: ast.expr, right_at: ast.expr
    ) -> Expr:
        if isinstance(operator, ast.In | ast.NotIn):
            left = self.expect(left, (Kind.INT,), at)
            right = self.expect(right, (Kind.INTS,), right_at)
            result = self.apply(at, Kind.BOOL, ops.CONTAINS, left, right)
            if isinstance(operator, ast.NotIn):
                return self.apply(at, Kind.BOOL, ops.NOT, result)
            return result
        symbol = _COMPARE.get(type(operator))
        if symbol is None:
            raise self.fail(at, "Operator 'is' is not part of the expression language; use ==.")
        kinds, operation = ops.COMPARISONS[symbol]
        if left == right and not isinstance(left, Literal) and left.kind in kinds:
            raise self.fail(at, f"Both sides of '{symbol}' are the same.")
        for a, b, b_at in ((left, right, right_at), (right, left, at)):
            converted = self.convert(b, a.kind, b_at)
            if converted is not None and a.kind in kinds:
                operands = (a, converted) if b is right else (converted, b and a)
                return self.apply(at, Kind.BOOL, operation, *operands)
        raise self.fail(at, f"Operator '{symbol}' does not apply to {left.kind} and {right.kind}.")

    def _logic(self, is_and: bool, left: Expr, right: Expr) -> Expr:
        if isinstance(left, Literal):
            return right if bool(left.value) == is_and else left
        return Logic(is_and, left, right, names_of(left, right))

    def logic(self, tree: ast.BoolOp) -> Expr:
        values = [self.expect(self.check(t), (Kind.BOOL,), t) for t in tree.values]
        result = values[-1]
        for value in reversed(values[:-1]):
            result = self._logic(isinstance(tree.op, ast.And), value, result)
        return result

    def conditional(self, tree: ast.IfExp) -> Expr:
        condition = self.expect(self.check(tree.test), (Kind.BOOL,), tree.test)
        then, otherwise = self.check(tree.body), self.check(tree.orelse)
        if then.kind is not otherwise.kind:
            converted = self.convert(otherwise, then.kind, tree.orelse)
            if converted is not None:
                otherwise = converted
            else:
                then = self.expect(then, (otherwise.kind,), tree.body)
        if isinstance(condition, Literal):
            return then if condition.value else otherwise
        length = then.length if then.length == otherwise.length else None
        names = names_of(condition, then, otherwise)
        return Conditional(then.kind, condition, then, otherwise, length, names)

    def attribute(self, tree: ast.Attribute) -> Expr:
        value = self.check(tree.value)
        if value.kind is not Kind.TENSOR or tree.attr not in ops.ATTRIBUTES:
            known = one_of(ops.ATTRIBUTES) if value.kind is Kind.TENSOR else "(none)"
            message = f"Attribute '{tree.attr}' is unknown for {value.kind}; known are: {known}."
            raise self.fail(tree, message)
        if tree.attr == "storage" and not self._scope.storages:
            message = "Storages are not chosen yet when this expression is evaluated."
            raise self.fail(tree, message + " Use it in axes, push, constants or grid.")
        kind, operation = ops.ATTRIBUTES[tree.attr]
        return self.apply(tree, kind, operation, value)

    def subscript(self, tree: ast.Subscript) -> Expr:
        value = self.check(tree.value)
        if isinstance(tree.slice, ast.Slice):
            return self._slice(tree, tree.slice, self.expect(value, (Kind.INTS,), tree.value))
        index = self.expect(self.check(tree.slice), (Kind.INT,), tree.slice)
        value = self.expect(value, (Kind.INTS, Kind.TENSORS), tree.value)
        if value.kind is Kind.TENSORS:
            return self.apply(tree, Kind.TENSOR, ops.INDEX_TENSORS, value, index)
        return self.apply(tree, Kind.INT, ops.INDEX_INTS, value, index)

    def _slice(self, tree: ast.expr, bounds: ast.Slice, value: Expr) -> Expr:
        if bounds.step is not None:
            raise self.fail(bounds.step, "Slices with a step are not part of the language.")
        ends: list[Expr] = []
        for bound, default in ((bounds.lower, 0), (bounds.upper, MAX_INTS)):
            if bound is None:
                ends.append(Literal(Kind.INT, default))
            else:
                ends.append(self.expect(self.check(bound), (Kind.INT,), bound))
        return self.apply(tree, Kind.INTS, ops.SLICE, value, *ends)

    def list_of(self, tree: ast.List) -> Expr:
        items = [self.expect(self.check(t), (Kind.INT,), t) for t in tree.elts]
        if len(items) > MAX_INTS:
            raise self.fail(tree, f"List of {len(items)} is longer than the limit ({MAX_INTS}).")
        if all(isinstance(x, Literal) for x in items):
            values = tuple(evaluate(x, {}) for x in items)
            return Literal(Kind.INTS, values, len(values))  # type: ignore[arg-type]
        return ListOf(tuple(items), names_of(*items))

    def comprehension(self, tree: ast.ListComp) -> Expr:
        loop = tree.generators[0]
        if len(tree.generators) != 1 or loop.is_async or not isinstance(loop.target, ast.Name):
            raise self.fail(
                tree, "A comprehension has one `for NAME in INTS` and at most one `if`."
            )
        if loop.target.id in self._scope.variables:
            message = f"Name '{loop.target.id}' has a meaning here already; choose another."
            raise self.fail(loop.target, message)
        if len(loop.ifs) > 1:
            raise self.fail(
                loop.ifs[1], "A comprehension has at most one `if`; join them by `and`."
            )
        iterable = self.expect(self.check(loop.iter), (Kind.INTS,), loop.iter)
        variable = Variable(Kind.INT, loop.target.id, Origin.LOOP)
        inner = _Checker(self._where, self._shift, self._scope.with_variable(variable))
        element = inner.expect(inner.check(tree.elt), (Kind.INT,), tree.elt)
        condition = None
        if loop.ifs:
            condition = inner.expect(inner.check(loop.ifs[0]), (Kind.BOOL,), loop.ifs[0])
        body = names_of(element) | (condition.names if condition else frozenset())
        names = iterable.names | (body - {variable.name})
        length = iterable.length if condition is None else None
        return Comprehension(variable, iterable, element, condition, length, names)

    def call(self, tree: ast.Call) -> Expr:
        name = tree.func.id if isinstance(tree.func, ast.Name) else None
        if name is None or name not in ops.FUNCTIONS:
            what = f"Function '{name}' is unknown" if name else "Only functions can be called"
            raise self.fail(tree.func, f"{what}; known functions are: {one_of(ops.FUNCTIONS)}.")
        if tree.keywords:
            raise self.fail(tree.keywords[0], "Functions take no keyword arguments.")
        values = [self.check(t) for t in tree.args]
        if name in ops.VARIADIC and len(values) > 1:
            return self._variadic(tree, name, values)
        for form in ops.FUNCTIONS[name]:
            if tuple(v.kind for v in values) == form.parameters:
                operands = tuple(values)
                length = ops.result_length(name, operands)
                return self.apply(tree, form.result, form.operation, *operands, length=length)
        given = ", ".join(v.kind for v in values)
        forms = " or ".join(f"{name}({', '.join(f.parameters)})" for f in ops.FUNCTIONS[name])
        raise self.fail(tree, f"Function {name}({given}) does not exist; it is {forms}.")

    def _variadic(self, tree: ast.Call, name: str, values: list[Expr]) -> Expr:
        kind = Kind.FLOAT if any(v.kind is Kind.FLOAT for v in values) else Kind.INT
        operands = [self.expect(v, (kind,), t) for v, t in zip(values, tree.args, strict=True)]
        result = operands[0]
        for operand in operands[1:]:
            result = self.apply(tree, kind, ops.VARIADIC[name][kind], result, operand)
        return result


_METHODS: dict[type[ast.expr], Callable[..., Expr]] = {
    ast.Constant: _Checker.constant,
    ast.Name: _Checker.name,
    ast.UnaryOp: _Checker.unary,
    ast.BinOp: _Checker.binary,
    ast.Compare: _Checker.compare,
    ast.BoolOp: _Checker.logic,
    ast.IfExp: _Checker.conditional,
    ast.Attribute: _Checker.attribute,
    ast.Subscript: _Checker.subscript,
    ast.List: _Checker.list_of,
    ast.ListComp: _Checker.comprehension,
    ast.Call: _Checker.call,
}
