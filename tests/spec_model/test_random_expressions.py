"""Random expressions have the value that Python's `eval` returns: of plain values, at every size of
symbolic ones, and for every value of the names that are not known."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import product
from types import CodeType
from typing import Any

from spec_model.errors import Position, SpecError
from spec_model.expr.check import parse
from spec_model.expr.evaluation import evaluate
from spec_model.expr.partial import known_value
from spec_model.expr.types import EvalError, Expr, TensorType
from spec_model.symbolic import Symbol, at_sizes, maximum, strict, sym
from spec_model.vocabulary import DType
from spec_model.yaml_reader import Scalar
from tests.codegen.random_expressions import expression
from tests.sample import runs_all, seed
from tests.spec_model.expression_cases import SCOPE, VALUES
from tests.spec_model.function_oracles import ORACLES, in_64_bits

COUNT = 30_000 if runs_all() else 800
_SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//",
            ast.Mod: "%"}  # fmt: skip


class _Checked(ast.NodeTransformer):
    """Operators become calls that check for 64 bits, lists become tuples."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return _call(_SYMBOLS[type(node.op)], self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        is_minus = isinstance(node.op, ast.USub)
        return _call("neg", operand) if is_minus else ast.UnaryOp(node.op, operand)

    def visit_List(self, node: ast.List) -> ast.expr:
        return ast.Tuple([self.visit(item) for item in node.elts], ast.Load())

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return _call("tuple", self.generic_visit(node))


def _call(name: str, *operands: Any) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [*operands], [])


def _limited(name: str) -> Any:
    def call(*args: Any) -> Any:
        value = in_64_bits(ORACLES[name](*args))
        if isinstance(value, tuple) and len(value) > 64:
            raise ValueError
        return value

    return call


NAMES: dict[str, Any] = {"tuple": tuple, "inf": float("inf"), "__builtins__": {}}
NAMES |= {name: _limited(name) for name in ORACLES}


class _Tensor:
    """A tensor as Python's expressions read it."""

    def __init__(self, tensor: TensorType) -> None:
        self.shape, self.dtype, self.present = tensor.shape, tensor.dtype, tensor.present
        self.rank = len(tensor.shape)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    return _Tensor(value) if isinstance(value, TensorType) else value


@lru_cache(maxsize=1)
def _compiled(text: str) -> CodeType:
    tree = _Checked().visit(ast.parse(text, mode="eval"))
    code: CodeType = compile(ast.fix_missing_locations(tree), text, "eval")
    return code


def expected_of(text: str, values: Mapping[str, Any]) -> Any:
    """The value in Python; None if there is none."""
    names = {**NAMES, **{name: _plain(value) for name, value in values.items()}}
    try:
        return eval(_compiled(text), names)
    except (ArithmeticError, IndexError, ValueError):
        return None


def trees(kinds: list[str], turn: int) -> Iterator[tuple[str, Expr]]:
    """Random expressions, without those that have no value for any values of their names."""
    choose = random.Random(1000 * seed() + turn)
    for i in range(COUNT):
        text = expression(choose, kinds[i % len(kinds)])
        with suppress(SpecError):
            yield text, parse(Scalar(Position("f.yaml", 1, 1), text, False, True), SCOPE)


def value_of(tree: Expr, values: Mapping[str, Any]) -> Any:
    try:
        return evaluate(tree, values)
    except EvalError:
        return None


def same(found: Any, expected: Any) -> bool:
    return bool(found == expected or (found != found and expected != expected))


def test_values() -> None:
    with_value = 0
    for text, tree in trees(["int", "float", "bool", "ints"], 0):
        found, expected = value_of(tree, VALUES), expected_of(text, VALUES)
        assert same(found, expected), f"{text} is {found}, not {expected}"
        assert isinstance(found, bool) == isinstance(expected, bool), text
        with_value += found is not None
    assert with_value > COUNT // 4


def test_symbolic_values() -> None:
    """The values at each size, or Undecided; no value where a size has none."""
    n, m = sym(Symbol("a", 1, 3)), sym(Symbol("b", 2, 3))
    values: dict[str, Any] = {
        **VALUES, "n": n + 1, "m": 1 - m, "v": (m, 1, n), "x": _shaped((n, 3, m * n, 2)),
        "xs": (_shaped((m, 3)), _shaped((maximum(n, m), 3))),
    }  # fmt: skip
    points = [{"a": a, "b": b} for a, b in product((1, 2, 3), (2, 3))]
    with_value = 0
    for text, tree in trees(["int", "bool", "ints"], 1):
        with strict():
            found = value_of(tree, values)
        if found is not None:
            with_value += 1
            at = [at_point(found, point) for point in points]
            expected = [expected_of(text, at_point(values, point)) for point in points]
            # `and` and `or` skip an operand without a value if the other one decides.
            assert all(y is None or x == y for x, y in zip(at, expected, strict=True)), text
    assert with_value > COUNT // 6


def _shaped(shape: tuple[int, ...]) -> TensorType:
    return TensorType(shape, DType.F32)


def at_point(value: Any, point: Mapping[str, int]) -> Any:
    match value:
        case dict():
            return {name: at_point(item, point) for name, item in value.items()}
        case tuple():
            return tuple(at_point(item, point) for item in value)
        case TensorType():
            return replace(value, shape=at_point(value.shape, point))
        case int():
            return at_sizes(value, point)
    return value


def test_values_of_which_only_some_names_are_known() -> None:
    names = ["n", "m", "f", "flag", "v"]
    others: list[dict[str, Any]] = [
              {"n": 2, "m": 1, "f": -0.5, "flag": False, "v": (2, 2, 3)},
              {"n": 0, "m": -1, "f": 3.0, "flag": True, "v": (1, 0, 5)}]  # fmt: skip
    found = 0
    for turn, (text, tree) in enumerate(trees(["int", "float", "bool"], 2)):
        unknown = [name for i, name in enumerate(names) if turn >> i & 1]
        value = known_value(tree, {name: v for name, v in VALUES.items() if name not in unknown})
        if value is None:
            continue
        found += 1
        for other in (VALUES, *others):
            expected = expected_of(text, {**VALUES, **{name: other[name] for name in unknown}})
            assert expected is None or same(value, expected), f"{text} without {unknown}"
    assert found > COUNT // 10
