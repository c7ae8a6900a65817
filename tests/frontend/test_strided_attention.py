"""Attention with strided operands, for all layouts of heads in models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.ir import Graph, State, Tensor
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize, optimize_sizes
from spirloom.passes.attention.strided import STRIDED, stride_attention
from spirloom.sizes import Symbol
from spirloom.symbolic.open_graph import open_graph
from spirloom.symbolic.specialize import specialize

from tests.frontend import reference_run
from tests.frontend.models import Make, compute, graph_of, imported, ops, random
from tests.frontend.test_data_movement import exported_attention

ATTENTION, VIEW = "aten.scaled_dot_product_attention", "aten.view"
BATCH, ROWS, HEADS, DEPTH = 2, 5, 3, 8
COLUMNS = HEADS * DEPTH


def strided(library: OpLibrary, graph: Graph) -> list[str]:
    """The remaining ops. Results must be unchanged."""
    inputs = {t.name: random(*t.shape) for t in graph.inputs}
    before = list(reference_run.run(graph, inputs).values())
    stride_attention(graph, library)
    after = list(reference_run.run(graph, inputs).values())
    for one, two in zip(before, after, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6)
    return ops(graph)


def args_of(library: OpLibrary, graph: Graph) -> Mapping[str, object]:
    (node,) = (node for node in graph.nodes if node.op == STRIDED)
    return dict(zip(library.arg_names(STRIDED), node.args, strict=True))


def columns(build: Builder, x: Tensor, begin: int, end: int) -> Tensor:
    last = len(x.shape) - 1
    return build.emit("aten.slice.Tensor", x=x, dim=last, start=begin, end=end, step=1)


def attend(build: Builder, q: Tensor, k: Tensor, v: Tensor, **more: object) -> Tensor:
    return build.emit(ATTENTION, query=q, key=k, value=v, **more)


def by_heads(build: Builder, x: Tensor) -> Tensor:
    """[batch, row, columns] as [batch, head, row, column]"""
    return build.permute(build.view(x, (*x.shape[:2], HEADS, DEPTH)), (0, 2, 1, 3))


def by_rows(build: Builder, y: Tensor) -> Tensor:
    """[batch, head, row, column] as [batch, row, columns]"""
    batch, heads, rows, width = y.shape
    return build.view(build.permute(y, (0, 2, 1, 3)), (batch, rows, heads * width))


def sliced(build: Builder, x: Tensor) -> Tensor:
    parts = [columns(build, x, i * COLUMNS, (i + 1) * COLUMNS) for i in range(3)]
    return by_rows(build, attend(build, *(by_heads(build, part) for part in parts)))


def unbound(build: Builder, x: Tensor) -> Tensor:
    """The heads of query, key and value are permuted together, then split."""
    parts = build.permute(build.view(x, (BATCH, ROWS, 3, HEADS, DEPTH)), (2, 0, 3, 1, 4))
    split = [build.emit("aten.select.int", x=parts, dim=0, index=i) for i in range(3)]
    return by_rows(build, attend(build, *split))


def by_head(build: Builder, x: Tensor) -> Tensor:
    """The query, key and value of a head are adjacent."""
    heads = build.permute(build.view(x, (BATCH, ROWS, HEADS, 3 * DEPTH)), (0, 2, 1, 3))
    parts = [columns(build, heads, i * DEPTH, (i + 1) * DEPTH) for i in range(3)]
    return by_rows(build, attend(build, *parts))


def grouped(build: Builder, x: Tensor) -> Tensor:
    """Keys and values have one head."""
    q = by_heads(build, columns(build, x, 0, COLUMNS))
    k, v = (
        build.view(columns(build, x, at, at + DEPTH), (BATCH, 1, ROWS, DEPTH))
        for at in (COLUMNS, 2 * COLUMNS)
    )
    return by_rows(build, attend(build, q, k, v, is_causal=True))


BATCH_STEP = ROWS * 3 * COLUMNS
PACKED = [(i * COLUMNS, BATCH_STEP, DEPTH, 3 * COLUMNS) for i in range(3)]
BY_HEAD = [(i * DEPTH, BATCH_STEP, 3 * DEPTH, 3 * COLUMNS) for i in range(3)]
GROUPED = [PACKED[0], *((i * COLUMNS, BATCH_STEP, 0, 3 * COLUMNS) for i in (1, 2))]


@pytest.mark.parametrize(
    ("make", "steps"),
    [(sliced, PACKED), (unbound, PACKED), (by_head, BY_HEAD), (grouped, GROUPED)],
)
def test_of_one_projection(library: OpLibrary, make: Make, steps: list[tuple[int, ...]]) -> None:
    graph = graph_of(library, make, BATCH, ROWS, 3 * COLUMNS)
    assert strided(library, graph) == [STRIDED, VIEW]
    args = args_of(library, graph)
    assert [args[f"{name}_strides"] for name in ("query", "key", "value")] == steps
    assert args["query"] is args["value"] is graph.inputs[0]
    assert args["order"] == (0, 2, 1)


def test_of_projections_of_their_own(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        parts = [by_heads(build, build.emit(f"aten.{op}", x=x)) for op in ("relu", "exp", "tanh")]
        return by_rows(build, attend(build, *parts))

    graph = graph_of(library, make, BATCH, ROWS, COLUMNS)
    assert Counter(strided(library, graph))[STRIDED] == 1 and len(graph.nodes) == 5


def rows_first(build: Builder, x: Tensor) -> Tensor:
    """[row, batch, columns], with batches and heads in one dimension."""
    parts = [
        build.permute(
            build.view(columns(build, x, i * COLUMNS, (i + 1) * COLUMNS), (ROWS, -1, DEPTH)),
            (1, 0, 2),
        )
        for i in range(3)
    ]
    mask = build.constant(random(BATCH * HEADS, 1, ROWS))
    y = attend(build, *parts, attn_mask=mask)
    return build.view(build.permute(y, (1, 0, 2)), (ROWS * BATCH, COLUMNS))


def test_rows_first(library: OpLibrary) -> None:
    graph = graph_of(library, rows_first, ROWS, BATCH, 3 * COLUMNS)
    assert strided(library, graph) == [VIEW, STRIDED, VIEW], "the first is of the mask"
    args = args_of(library, graph)
    assert (args["batches"], args["heads"], args["order"]) == (BATCH, HEADS, (2, 0, 1))
    step = 3 * COLUMNS
    assert args["key_strides"] == (COLUMNS, step, DEPTH, BATCH * step)


def test_other_operands_are_contiguous(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        q = build.emit("aten.relu", x=by_heads(build, x))
        return attend(build, q, q, by_heads(build, x))

    graph = graph_of(library, make, BATCH, ROWS, COLUMNS)
    assert strided(library, graph) == [VIEW, "aten.permute", "aten.relu", STRIDED]
    args = args_of(library, graph)
    assert args["query_strides"] == (0, HEADS * ROWS * DEPTH, ROWS * DEPTH, DEPTH)
    assert args["value"] is graph.inputs[0] and args["order"] == (0, 1, 2)


def test_copies_with_other_readers_are_kept(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        heads = by_heads(build, x)
        return build.add(attend(build, heads, heads, heads), heads)

    graph = graph_of(library, make, BATCH, ROWS, COLUMNS)
    assert strided(library, graph) == [VIEW, "aten.permute", ATTENTION, "aten.add.Tensor"]


@pytest.mark.parametrize("index", [1, 2, 11])
def test_results_are_kept(library: OpLibrary, index: int) -> None:
    """A key's heads, the sum over values, and the result after it."""
    graph = graph_of(library, sliced, BATCH, ROWS, 3 * COLUMNS)
    graph.outputs.append(graph.nodes[index].outputs[0])
    graph.outputs[-1].name = "also"
    assert STRIDED in strided(library, graph)


def test_without_copies_nothing_changes(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        heads = build.view(x, (BATCH, HEADS, ROWS, DEPTH))
        return attend(build, heads, heads, heads)

    graph = graph_of(library, make, BATCH, HEADS, ROWS * DEPTH)
    assert strided(library, graph) == [VIEW, ATTENTION]


def test_unaligned_rows_are_copied(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        parts = [by_heads(build, columns(build, x, i, i + COLUMNS)) for i in (1, 2, 3)]
        return attend(build, *parts)

    graph = graph_of(library, make, BATCH, ROWS, COLUMNS + 3)
    assert strided(library, graph) == [*["aten.slice.Tensor"] * 3, STRIDED]


def test_states_are_copied_before_they_change(library: OpLibrary) -> None:
    graph = graph_of(library, sliced, BATCH, ROWS, 3 * COLUMNS)
    (x,) = graph.inputs
    graph.inputs, graph.states = [], [State(x, x)]
    assert Counter(strided(library, graph))["aten.slice.Tensor"] == 3


def test_of_any_size(library: OpLibrary, tmp_path: Path) -> None:
    made = exported_attention()
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())

    def plain(sizes: Mapping[str, int]) -> Graph:
        return import_model(path, library, Shapes(sizes))

    def optimized(graph: Graph) -> Graph:
        optimize(graph, library, sizes_vary=True)
        return graph

    symbols = [Symbol("seq", 1, 40), Symbol("batch", 1, 8)]
    graph = optimize_sizes(open_graph(plain, optimized, symbols, library), library)
    found = Counter(ops(graph))
    assert (found[STRIDED], found["aten.as_strided"], found["aten.permute"]) == (1, 0, 0)
    steps = args_of(library, graph)["key_strides"]
    assert isinstance(steps, tuple)
    assert list(map(str, steps)) == ["24", "72", "12", "72*batch"]
    for seq, batch in product((1, 2, 7, 40), (1, 3, 8)):
        sizes = {"seq": seq, "batch": batch}
        expected = imported(made, library, tmp_path, Shapes(sizes), optimized=False)
        x = random(seq, batch, 24)
        got = compute(specialize(graph, sizes, library), x)
        np.testing.assert_allclose(got, compute(expected, x), rtol=1e-5, atol=1e-5)
