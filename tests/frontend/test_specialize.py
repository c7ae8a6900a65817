"""Graphs of symbolic sizes at fixed sizes compute what NumPy does."""

from __future__ import annotations

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.deferred import Deferred
from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, State, Tensor, constant
from spirloom.number_expr import FORMULAS
from spirloom.op_library import OpLibrary
from spirloom.sizes import Symbol, Varying
from spirloom.symbolic.open_graph import settled
from spirloom.symbolic.specialize import Impossible, specialize

from spec_model.symbolic import sym
from tests.frontend import reference_run
from tests.frontend.models import random

N = Symbol("n", 1, 9)
TABLE = random(9, 3)


def graph_of_all_arguments(library: OpLibrary) -> Graph:
    """The smallest n of 6 n elements: x, and x plus the first n rows of a table, plus sqrt(n)."""
    n = sym(N)
    x = Tensor("x", DType.F32, (n, 3))
    graph = Graph([x], symbols=(N,))
    build = Builder(library, graph)
    more = build.emit("aten.add.Tensor", a=x, b=constant("table", TABLE, (n, 3)))
    both = build.emit("aten.cat", tensors=(x, more), dim=0)
    line = build.emit("aten.view", x=both, size=(6 * n,))
    root = build.number(FORMULAS["sqrt"](n), DType.F32)
    total = build.emit("aten.add.Tensor", a=line, b=root)
    smallest, _ = build.emit_all("aten.topk", x=total, k=n, largest=False)
    smallest.name = "y"
    graph.outputs = [smallest]
    return graph


@pytest.mark.parametrize("in_file_form", [False, True])
def test_arguments_of_all_types(in_file_form: bool, library: OpLibrary) -> None:
    graph = graph_of_all_arguments(library)
    if in_file_form:
        graph = settled(graph, library)
    for n in range(1, 10):
        x = random(n, 3, seed=n)
        special = specialize(graph, {"n": n}, library)
        assert special.inputs[0].shape == (n, 3) and special.symbols == ()
        expected = np.sort(np.concatenate([x, x + TABLE[:n]]).ravel() + np.float32(n**0.5))[:n]
        (found,) = reference_run.run(special, {"x": x}).values()
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def relu(library: OpLibrary) -> tuple[Graph, Tensor]:
    """A graph of one call, and its result."""
    graph = Graph([Tensor("x", DType.F32, (sym(N), 3))], symbols=(N,))
    build = Builder(library, graph)
    build.name = "node"
    graph.outputs = [build.emit("aten.relu", x=graph.inputs[0])]
    return graph, graph.outputs[0]


def test_dimensions_that_are_inferred(library: OpLibrary) -> None:
    graph, y = relu(library)
    y.shape = (Varying(9, None), 3)
    assert specialize(graph, {"n": 4}, library).outputs[0].shape == (4, 3)


def test_unexpected_shapes(library: OpLibrary) -> None:
    graph, y = relu(library)
    y.shape = (7, 3)
    assert specialize(graph, {"n": 7}, library).outputs[0].shape == (7, 3)
    message = r"at n=4, node 'node': aten.relu returns \[4, 3\], not \[7, 3\]\."
    with pytest.raises(ImportFailure, match=message):
        specialize(graph, {"n": 4}, library)


def test_calls_that_are_not_valid(library: OpLibrary) -> None:
    graph, y = relu(library)
    smallest = Builder(library, graph).emit("aten.slice.Tensor", x=y, dim=0, start=0, end=4, step=1)
    graph.outputs = [Builder(library, graph).emit("aten.view", x=smallest, size=(4, 3))]
    specialize(graph, {"n": 5}, library)
    with pytest.raises(Impossible, match="cannot vary in size: at n=3, node ''"):
        specialize(graph, {"n": 3}, library)


def test_states_keep_their_shapes(library: OpLibrary) -> None:
    graph, y = relu(library)
    graph.states = [State(Tensor("total", DType.F32, (4, 3)), y)]
    assert specialize(graph, {"n": 4}, library).states[0].update.shape == (4, 3)
    with pytest.raises(ImportFailure, match=r"state 'total' becomes f32\[3, 3\], not f32\[4, 3\]"):
        specialize(graph, {"n": 3}, library)


def test_constants_of_fixed_sizes_are_not_read(library: OpLibrary) -> None:
    graph, y = relu(library)
    values = Deferred((3,), np.dtype(np.float32), lambda *_: pytest.fail("it was read"), key="c")
    total = Builder(library, graph).emit("aten.add.Tensor", a=y, b=constant("c", values))
    graph.outputs = [total]
    special = specialize(graph, {"n": 4}, library)
    assert [tensor.values for tensor in special.tensors() if tensor.is_constant] == [values]
