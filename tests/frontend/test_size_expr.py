"""Size expressions of graph files: their values, text, limits, and reading them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from spirloom import graph_file, graph_reader
from spirloom.ir import DType, Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.sizes import Varying
from spirloom.symbolic.size_reader import SizeReader

from spec_model.flatbuffer import MalformedBuffer
from spec_model.size_expr import MAX_DEPTH, SizeExpr, expression
from spec_model.symbolic import Symbol, at_sizes, maximum, minimum, size_of, sym
from spec_model.symbolic.expr import at_maximum
from tests.formulas import POINTS, integer
from tests.sample import seed

N, M = Symbol("n", 1, 20), Symbol("m", 2, 9)


def test_random_expressions() -> None:
    choose = random.Random(seed())
    found = 0
    for _ in range(400):
        function, value = integer(choose, 4)
        expr = expression(size_of(value))
        if expr is None:
            continue
        found += 1
        for sizes in POINTS:
            right = function(sizes)
            assert right == expr.value(sizes) == at_sizes(value, sizes), (value, str(expr), sizes)
    assert found > 350


def test_text() -> None:
    n, m = sym(N), sym(M)
    texts = {
        minimum(n, 8): "min(8, n)",
        maximum(n // 3, 1) * 2: "2*max(((n)/3), 1)",
        (minimum(n, m) + 1) // 2: "(min(m, n) + 1)/2",
        n % 4: "n + -4*((n)/4)",
        (n + 1) // 2: "(n + 1)/2",
    }
    assert [str(expression(size_of(value))) for value in texts] == list(texts.values())


def test_expressions_without_form() -> None:
    n, m = sym(N), sym(M)
    assert expression(size_of(n // m)) is None
    deep = n
    for step in range(MAX_DEPTH + 2):
        deep = minimum(deep * n, 1000 + step)
    assert expression(size_of(deep)) is None


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


def test_deeply_nested_files_are_errors() -> None:
    term = {"factor": 1, "symbols": (0,), "sizes": ()}
    sizes = [{"terms": [term], "divisor": 1, "op": 0}]
    for index in range(MAX_DEPTH):
        nested = {"factor": 1, "symbols": (), "sizes": (index,) * 4}
        sizes.append({"terms": [nested], "divisor": 1, "op": 0})
    symbols = [{"name": "n", "min": 1, "max": 2}]
    with pytest.raises(MalformedBuffer, match=r"size 6 has \d+ terms, nested 7 deep"):
        SizeReader({"symbols": symbols, "sizes": sizes, "numbers": []})
