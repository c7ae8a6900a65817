"""Size expressions of graph files: their values, text, limits, and reading them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from spirloom import graph_file, graph_reader
from spirloom.ir import DType, Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.sizes import Varying

from spec_model.size_expr import SizeExpr, SizeOp, expression, size_from
from spec_model.symbolic import Symbol, at_sizes, maximum, minimum, size_of, sym
from spec_model.symbolic.expr import at_maximum
from tests import formulas
from tests.formulas import POINTS, integer
from tests.sample import seed

ROOT = Path(__file__).parents[2]
N, M = Symbol("n", 1, 20), Symbol("m", 2, 9)


def text_function(expr: SizeExpr) -> Callable[[Mapping[str, int]], int]:
    """The text as a function of sizes: a formula of Python, apart from /, which rounds down."""
    code = compile(str(expr).replace("/", "//"), "text", "eval")
    functions = {"min": lambda *values: min(values), "max": lambda *values: max(values)}
    return lambda sizes: int(eval(code, functions, dict(sizes)))


def check_expr(expr: SizeExpr, function: Callable[[Mapping[str, int]], float]) -> None:
    """Compares an expression, and the size that it is read as, with a function of n and m."""
    size = size_from(expr, {"n": formulas.N, "m": formulas.M})
    for sizes in POINTS:
        assert function(sizes) == expr.value(sizes) == size.value(sizes), (str(expr), sizes)
    assert expr.symbols() == set(re.findall(r"\b[nm]\b", str(expr)))


def test_random_expressions() -> None:
    choose = random.Random(seed())
    found = 0
    for _ in range(400):
        function, value = integer(choose, 4)
        assert all(function(sizes) == at_sizes(value, sizes) for sizes in POINTS)
        expr = expression(size_of(value))
        if expr is not None:
            found += 1
            check_expr(expr, function)
            check_expr(expr, text_function(expr))
    assert found > 350


def random_expr(choose: random.Random, depth: int) -> SizeExpr:
    """An expression of any form that files may have."""

    def part() -> str | SizeExpr:
        nested = depth > 1 and choose.random() < 0.6
        return random_expr(choose, depth - 1) if nested else choose.choice("nm")

    op = choose.choice(list(SizeOp))
    count = choose.randint(0 if op is SizeOp.SUM else 1, 3)
    terms = tuple(
        (choose.randint(-3, 3), tuple(part() for _ in range(choose.randint(0, 2))))
        for _ in range(count)
    )
    return SizeExpr(terms, choose.choice((1, 1, 2, 3)), op)


def test_random_forms() -> None:
    choose = random.Random(seed())
    for _ in range(400):
        expr = random_expr(choose, 4)
        check_expr(expr, text_function(expr))


def test_depth() -> None:
    expr = SizeExpr(((2, ("n",)),))
    for depth in range(1, 6):
        assert expr.depth == depth
        shallow = SizeExpr(((1, ("m",)),))
        expr = SizeExpr(((1, (shallow, expr, "n")), (1, (shallow,))))


def test_text() -> None:
    n, m = sym(N), sym(M)
    texts = {
        minimum(n, 8): "min(8, n)",
        maximum(n // 3, 1) * 2: "2*max(((n)/3), 1)",
        (minimum(n, m) + 1) // 2: "(min(m, n) + 1)/2",
        n % 4: "n + -4*((n)/4)",
        (n + 1) // 2: "(n + 1)/2",
        n % 4 + m: "m + n + -4*((n)/4)",
        minimum(n + 1, 2 * m): "min(2*m, (n + 1))",
    }
    assert [str(expression(size_of(value))) for value in texts] == list(texts.values())
    product = SizeExpr(((2, (SizeExpr(((3, ("n",)),)), "m")),))
    assert str(product) == "2*3*n*m"


def test_expressions_without_form() -> None:
    n, m = sym(N), sym(M)
    for value in (n // m, n // m + 1, minimum(n // m + n, 5)):
        assert expression(size_of(value)) is None


def test_limits() -> None:
    """Expressions within the limits of the runtime have a form, others have none."""
    source = (ROOT / "runtime/graph/file/size_reader.cpp").read_text(encoding="utf-8")
    limits = dict(re.findall(r"constexpr size_t (kMax\w+) = (\d+);", source))
    terms, factors, depth = (int(limits[f"kMax{what}"]) for what in ("Terms", "Factors", "Depth"))
    symbols = [sym(Symbol(f"s{i}", 1, 9)) for i in range(terms + 1)]
    n, m = sym(N), sym(M)
    nested = [n]
    for step in range(depth + 1):
        nested.append(minimum(nested[-1] * n, 50 + step))
    within = [sum(symbols[:-1]), n**factors + m, nested[depth], minimum(n**factors, 100)]
    beyond = [sum(symbols), n ** (factors + 1) + m, nested[depth + 1],
              minimum(n ** (factors + 1), 100), minimum(sum(symbols), 100)]  # fmt: skip
    found = [expression(size_of(value)) for value in within]
    assert [str(expr).count("s") for expr in found] == [terms, 0, 0, 0]
    assert [expr.depth for expr in found if expr] == [1, 1, depth, 1]
    assert [expression(size_of(value)) for value in beyond] == [None] * len(beyond)


def test_files_contain_nested_expressions(library: OpLibrary, tmp_path: Path) -> None:
    rows = maximum(minimum(sym(N), 6) - 2, sym(N) // 4 + 1)
    found = expression(size_of(rows))
    shape = (Varying(20, SizeExpr(((1, ("n",)),))), Varying(at_maximum(size_of(rows)), found))
    x = Tensor("x", DType.F32, shape)
    path = tmp_path / "g.slg"
    graph_file.save(Graph([x], [], [], symbols=(N,)), path)
    (read,) = graph_reader.load(path).inputs
    assert list(map(str, read.shape)) == list(map(str, shape))
    assert isinstance(read.shape[1], Varying) and read.shape[1].expr == found
