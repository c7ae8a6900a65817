"""Conditions on sizes: proven, kept as guards that narrow a range, or refused."""

from __future__ import annotations

import logging
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper
from spirloom import graph_file, graph_reader, inspect
from spirloom.errors import ImportFailure
from spirloom.onnx.size_arrays import Condition, compare
from spirloom.op_library import OpLibrary
from spirloom.sizes import Symbol

from spec_model.symbolic import Guard, at_sizes, size_of, sym
from spec_model.symbolic.guards import compared
from tests.frontend.models import node
from tests.frontend.test_dynamic_graphs import agree, varying, written

N, M = Symbol("n", 1, 9), Symbol("m", 1, 4)


def branching(condition: list[NodeProto], folder: Path) -> Path:
    """If the condition `c` of the sizes n and m holds, x is kept, otherwise it is negated."""
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "ab"]
    kept = helper.make_graph([node("Identity", "x", "a")], "then", [], info[:1])
    negated = helper.make_graph([node("Neg", "x", "b")], "else", [], info[1:])
    branch = helper.make_node("If", ["c"], ["y"], name="branch",
                              then_branch=kept, else_branch=negated)  # fmt: skip
    return written(
        folder,
        [node("Size", "x", "n"), node("Size", "z", "m"), *condition, branch],
        inputs={"x": ["n"], "z": ["m"]},
        constants={
            "zero": np.array(0),
            "three": np.array(3),
            "nine": np.array(9),
            "ten": np.array(10),
        },
    )


def test_a_proven_condition(library: OpLibrary, tmp_path: Path) -> None:
    graph = varying(branching([node("Less", "n ten", "c")], tmp_path), library, [N, M])
    assert graph.guards == () and graph.symbols == (N, M)


def test_a_kept_guard_narrows_the_range(
    library: OpLibrary, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """x is negated if n > 2, which is the branch of the maximum."""
    path = branching([node("Less", "n three", "c")], tmp_path)
    with caplog.at_level(logging.WARNING):
        graph = varying(path, library, [N, M])
    assert graph.symbols == (Symbol("n", 3, 9), M)
    (guard,) = graph.guards
    assert guard.startswith("node 'branch' (If)") and guard.endswith("relies on n - 3 >= 0")
    assert f"--dim n is narrowed to 3..9: {guard}." in caplog.text
    for n in range(3, 10):
        agree(path, library, graph, {"n": n, "m": 1})
    graph_file.save(graph, tmp_path / "model.slg")
    loaded = graph_reader.load(tmp_path / "model.slg")
    assert loaded.guards == graph.guards
    assert f"guard       {guard}" in inspect.to_text(loaded, library)
    assert inspect.describe(loaded, library)["guards"] == [guard]


def test_sizes_at_which_a_call_is_not_valid(
    library: OpLibrary, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Two convolutions without padding need 5 rows and 5 columns."""
    height, width = Symbol("height", 1, 12), Symbol("width", 2, 7)
    path = written(
        tmp_path,
        [node("Conv", "x w", "a"), node("Conv", "a w", "b"), node("GlobalAveragePool", "b", "y")],
        inputs={"x": [1, 1, "height", "width"]},
        constants={"w": np.ones((1, 1, 3, 3), np.float32)},
    )
    with caplog.at_level(logging.WARNING):
        graph = varying(path, library, [height, width])
    assert graph.symbols == (Symbol("height", 5, 12), Symbol("width", 5, 7))
    guard = graph.guards[-1]
    assert guard.startswith("at height=4, width=4, node 'GlobalAveragePool_y': ")
    assert f"--dim width is narrowed to 5..7: {guard}." in caplog.text
    for rows, columns in product(range(5, 13), range(5, 8)):
        agree(path, library, graph, {"height": rows, "width": columns})


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        (
            [node("Greater", "n m", "c")],
            r"node 'branch' \(If\).* relies on -m \+ n > 0, which is false at m=1, n=1",
        ),
        (
            [node("Less", "n nine", "c")],
            r"node 'branch' \(If\).* relies on n - 9 >= 0, which is false at n=1",
        ),
        ([node("Mod", "n three", "r"), node("Equal", "r zero", "c")], "cannot vary in size"),
    ],
)
def test_conditions_that_no_range_satisfies(
    condition: list[NodeProto], reason: str, library: OpLibrary, tmp_path: Path
) -> None:
    path = branching(condition, tmp_path)
    with pytest.raises(ImportFailure, match=reason):
        varying(path, library, [N, M])


def test_narrowed_symbols() -> None:
    n, m = sym(N), sym(M)

    def narrowed(difference: int, relation: str, outcome: bool = True) -> Symbol | None:
        return Guard(size_of(difference), relation, outcome).narrowed()

    assert narrowed(n - 4, ">=") == Symbol("n", 4, 9)
    assert narrowed(n - 4, "<", outcome=False) == Symbol("n", 4, 9)
    assert narrowed(n - 3, "!=") == Symbol("n", 4, 9)
    assert narrowed(2 * n - 7, ">") == Symbol("n", 4, 9)
    assert narrowed(n - 9, "==") is None  # a single size
    assert narrowed(n - 8, "==") is None
    assert narrowed(n - m, ">=") is None


@pytest.mark.parametrize("relation", ["<", "<=", ">", ">=", "==", "!="])
def test_conditions_are_indicators(relation: str) -> None:
    """1 at the sizes for which a comparison of two sizes holds, 0 at others."""
    condition = compare(sym(N), relation, 2 * sym(M))
    assert isinstance(condition, Condition)
    for n, m in product(range(1, 10), range(1, 5)):
        sizes = {"n": n, "m": m}
        expected = compared(relation, n - 2 * m)
        assert at_sizes(condition.indicator, sizes) == expected
        assert at_sizes(condition.negated().indicator, sizes) == (not expected)
