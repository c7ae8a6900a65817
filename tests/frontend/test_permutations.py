"""move_row_permutations: permutations of rows move across linear layers to merge with copies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from spirloom.builder import Builder
from spirloom.ir import DType, Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes.permutations import move_row_permutations

from tests.frontend import reference_run
from tests.frontend.models import ops, random

LINEAR, PERMUTE, VIEW, SLICE = "aten.linear", "aten.permute", "aten.view", "aten.slice.Tensor"
ROWS, BATCH, WIDTH = 5, 2, 6
Make = Callable[[Builder, Tensor], list[Tensor]]


def moved(library: OpLibrary, make: Make, *shape: int) -> Graph:
    """The graph after the pass. Results must be unchanged."""
    graph = Graph([Tensor("x", DType.F32, shape)])
    build = Builder(library, graph)
    build.name = "node"
    graph.outputs = make(build, graph.inputs[0])
    for i, y in enumerate(graph.outputs):
        y.name = f"y{i}"
    inputs = {"x": random(*shape)}
    before = reference_run.run(graph, inputs)
    move_row_permutations(graph, library)
    after = reference_run.run(graph, inputs)
    for one, two in zip(before.values(), after.values(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-6)
    return graph


def linear(build: Builder, x: Tensor, columns: int = WIDTH, **more: object) -> Tensor:
    weight = build.constant(random(columns, x.shape[-1]))
    bias = build.constant(random(columns, seed=1))
    return build.emit(LINEAR, x=x, weight=weight, bias=bias, **more)


def permuted(build: Builder, x: Tensor) -> Tensor:
    return build.permute(x, (1, 0, 2))


def columns(build: Builder, x: Tensor, begin: int, end: int) -> Tensor:
    return build.emit(SLICE, x=x, dim=2, start=begin, end=end, step=1)


def order(graph: Graph) -> list[str]:
    return [op for op in ops(graph) if op != VIEW]


def test_before_slices(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> list[Tensor]:
        y = linear(build, permuted(build, x), 3 * WIDTH)
        return [columns(build, y, i * WIDTH, (i + 1) * WIDTH) for i in range(3)]

    graph = moved(library, make, BATCH, ROWS, WIDTH)
    assert order(graph) == [LINEAR, *[PERMUTE] * 3, *[SLICE] * 3]


def test_before_several_layers(library: OpLibrary) -> None:
    """One layer reads the rows as a matrix, and the heads of the others are permuted."""

    def make(build: Builder, x: Tensor) -> list[Tensor]:
        rows = permuted(build, x)
        flat = linear(build, build.view(rows, (ROWS * BATCH, WIDTH)))
        heads = [build.view(y, (ROWS, BATCH * 2, 3)) for y in (flat, linear(build, rows))]
        return [build.permute(y, (1, 0, 2)) for y in heads]

    graph = moved(library, make, BATCH, ROWS, WIDTH)
    assert order(graph) == [LINEAR, PERMUTE, LINEAR, PERMUTE, PERMUTE, PERMUTE]
    assert {node.args[0] for node in graph.nodes if node.op == LINEAR} == {graph.inputs[0]}


def test_permutations_with_other_readers(library: OpLibrary) -> None:
    def of_layer(build: Builder, x: Tensor) -> list[Tensor]:
        y = linear(build, permuted(build, x))
        return [columns(build, y, 0, 3), build.emit("aten.relu", x=y)]

    def of_permutation(build: Builder, x: Tensor) -> list[Tensor]:
        rows = permuted(build, x)
        return [columns(build, linear(build, rows), 0, 3), build.emit("aten.relu", x=rows)]

    def as_result(build: Builder, x: Tensor) -> list[Tensor]:
        rows = permuted(build, x)
        return [columns(build, linear(build, rows), 0, 3), rows]

    for make in (of_layer, of_permutation, as_result):
        assert order(moved(library, make, BATCH, ROWS, WIDTH))[:2] == [PERMUTE, LINEAR]


def attended(build: Builder, x: Tensor) -> Tensor:
    """The output of attention, [batch * head, row, column], as a matrix [row * batch, column]."""
    return build.view(build.permute(x, (1, 0, 2)), (ROWS * BATCH, WIDTH))


def test_after_heads(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> list[Tensor]:
        y = build.view(linear(build, attended(build, x)), (ROWS, BATCH, WIDTH))
        return [permuted(build, y)]

    graph = moved(library, make, BATCH * 2, ROWS, 3)
    assert order(graph) == [PERMUTE, PERMUTE, LINEAR]
    assert graph.nodes[-1].outputs[0].shape == (BATCH, ROWS, WIDTH)


def test_after_other_operators_nothing_moves(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> list[Tensor]:
        rows = build.emit("aten.relu", x=attended(build, x))
        return [permuted(build, build.view(linear(build, rows), (ROWS, BATCH, WIDTH)))]

    graph = moved(library, make, BATCH * 2, ROWS, 3)
    assert order(graph) == [PERMUTE, "aten.relu", LINEAR, PERMUTE]


def test_layers_with_residuals(library: OpLibrary) -> None:
    """A residual depends on its own rows."""

    def make(build: Builder, x: Tensor) -> list[Tensor]:
        rows = attended(build, x)
        more = build.constant(random(ROWS * BATCH, WIDTH, seed=2))
        y = linear(build, rows, addend=more)
        return [permuted(build, build.view(y, (ROWS, BATCH, WIDTH)))]

    graph = moved(library, make, BATCH * 2, ROWS, 3)
    assert order(graph) == [PERMUTE, LINEAR, PERMUTE]


def test_permutations_of_columns(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> list[Tensor]:
        y = linear(build, build.permute(x, (0, 2, 1)))
        return [columns(build, y, 0, 3), build.permute(y, (0, 2, 1))]

    graph = moved(library, make, BATCH, WIDTH, ROWS)
    assert order(graph)[:2] == [PERMUTE, LINEAR]
