"""Linear layers of one input are merged, and layers whose columns are read in parts are split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.ir import DType, Graph, State, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize
from spirloom.passes.cleanup import merge_equal_calls
from spirloom.passes.linear_layers import LINEAR, SLICE, merge_linear_layers, split_linear_layers

from tests.frontend import reference_run
from tests.frontend.models import Make, graph_of, ops, random

STRIDED = "spirloom.strided_attention"
BATCH, ROWS, HEADS, DEPTH = 2, 5, 3, 8
COLUMNS = HEADS * DEPTH
Pass = Callable[[Graph, OpLibrary], None]


def rewritten(library: OpLibrary, graph: Graph, *passes: Pass) -> Counter[str]:
    """The remaining ops. Results must be unchanged."""
    inputs = {tensor.name: random(*tensor.shape) for tensor in graph.inputs}
    before = reference_run.run(graph, inputs)
    for each in passes:
        each(graph, library)
    after = reference_run.run(graph, inputs)
    for name, expected in before.items():
        np.testing.assert_allclose(after[name], expected, rtol=1e-5, atol=1e-5)
    return Counter(ops(graph))


def optimized(graph: Graph, library: OpLibrary) -> None:
    optimize(graph, library)


def layer(build: Builder, x: Tensor, columns: int, seed: int, bias: bool = True) -> Tensor:
    depth = x.shape[-1]
    weight = constant(f"w{seed}", random(columns, depth, seed=seed) / np.float32(depth**0.5))
    given = constant(f"b{seed}", random(columns, seed=seed + 50)) if bias else None
    return build.emit(LINEAR, x=x, weight=weight, bias=given)


def heads_of(build: Builder, x: Tensor, heads: int) -> Tensor:
    return build.permute(build.view(x, (*x.shape[:2], heads, DEPTH)), (0, 2, 1, 3))


def attended(build: Builder, q: Tensor, k: Tensor, v: Tensor, kv_heads: int = HEADS) -> Tensor:
    query, key, value = heads_of(build, q, HEADS), *(heads_of(build, t, kv_heads) for t in (k, v))
    y = build.emit("aten.scaled_dot_product_attention", query=query, key=key, value=value)
    return build.view(build.permute(y, (0, 2, 1, 3)), (*q.shape[:2], COLUMNS))


def self_attention(build: Builder, x: Tensor) -> Tensor:
    q, k, v = (layer(build, x, COLUMNS, seed, bias=seed != 2) for seed in (1, 2, 3))
    return attended(build, q, k, v)


def grouped_attention(build: Builder, x: Tensor) -> Tensor:
    q, k, v = (layer(build, x, n * DEPTH, seed) for n, seed in ((HEADS, 1), (1, 2), (1, 3)))
    return attended(build, q, k, v, kv_heads=1)


def cross_attention(build: Builder, x: Tensor) -> Tensor:
    other = build.emit("aten.relu", x=x)
    q, k, v = (layer(build, t, COLUMNS, s) for t, s in ((x, 1), (other, 2), (other, 3)))
    return attended(build, q, k, v)


def shared_keys(build: Builder, x: Tensor) -> Tensor:
    """The keys are the values, and are read by the attentions of two queries."""
    q, p, k = (layer(build, x, COLUMNS, seed) for seed in (1, 2, 3))
    return build.emit("aten.add.Tensor", a=attended(build, q, k, k), b=attended(build, p, k, k))


@pytest.mark.parametrize(
    ("make", "layers", "attentions"),
    [(self_attention, 1, 1), (grouped_attention, 1, 1), (cross_attention, 2, 1),
     (shared_keys, 1, 2)],
)  # fmt: skip
def test_projections_of_attention_are_merged(
    library: OpLibrary, make: Make, layers: int, attentions: int
) -> None:
    graph = graph_of(library, make, BATCH, ROWS, 16)
    found = rewritten(library, graph, optimized)
    assert found[LINEAR] == layers and found[STRIDED] == attentions
    assert not found[SLICE]


def test_results_with_other_readers_stay_apart(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        q, k, v = (layer(build, x, COLUMNS, seed) for seed in (1, 2, 3))
        return build.emit("aten.add.Tensor", a=attended(build, q, k, v), b=q)

    found = rewritten(library, graph_of(library, make, BATCH, ROWS, 16), optimized)
    assert found[LINEAR] == 2  # k and v are merged


def embedded(build: Builder, x: Tensor) -> Tensor:
    """Layers of one row, as of the time embedding of a diffusion model."""
    row = build.emit("aten.silu", x=x)
    parts = [layer(build, row, columns, seed) for seed, columns in enumerate((8, 24, 16))]
    return build.emit("aten.cat", tensors=tuple(build.emit("aten.exp", x=p) for p in parts), dim=1)


def test_layers_of_a_row_are_merged(library: OpLibrary) -> None:
    found = rewritten(library, graph_of(library, embedded, 1, 12), merge_linear_layers)
    assert found[LINEAR] == 1 and found[SLICE] == 3  # views


def test_layers_of_rows_are_not_merged_for_copies(library: OpLibrary) -> None:
    found = rewritten(library, graph_of(library, embedded, 2, 12), merge_linear_layers)
    assert found[LINEAR] == 3 and not found[SLICE]


def columns(build: Builder, x: Tensor, begin: int, end: int) -> Tensor:
    return build.emit(SLICE, x=x, dim=len(x.shape) - 1, start=begin, end=end, step=1)


def gated(op: str, **more: object) -> Make:
    """value * activation(gate), with both in the columns of one layer."""

    def make(build: Builder, x: Tensor) -> Tensor:
        y = layer(build, x, 32, 1)
        gate = build.emit(op, x=columns(build, y, 16, 32), **more)
        return build.emit("aten.mul.Tensor", a=columns(build, y, 0, 16), b=gate)

    return make


@pytest.mark.parametrize(
    ("make", "expected"),
    [(gated("aten.gelu"), {LINEAR: 2, "aten.mul.Tensor": 1}),
     (gated("aten.gelu", approximate="tanh"), {LINEAR: 2, "aten.gelu": 1, "aten.mul.Tensor": 1}),
     (gated("aten.silu"), {LINEAR: 2, "spirloom.swiglu": 1})],
)  # fmt: skip
def test_gated_activations_split_their_layer(
    library: OpLibrary, make: Make, expected: Mapping[str, int]
) -> None:
    found = rewritten(library, graph_of(library, make, 3, 12), optimized)
    assert found == Counter(expected)


def overlapping(build: Builder, x: Tensor) -> Tensor:
    y = layer(build, x, 32, 1)
    a, b = (build.emit("aten.exp", x=columns(build, y, at, at + 20)) for at in (0, 12))
    return build.emit("aten.add.Tensor", a=a, b=b)


def normalized(build: Builder, x: Tensor) -> Tensor:
    y = layer(build, x, 32, 1)
    rows = build.emit("aten._softmax", x=columns(build, y, 0, 16), dim=1)
    return build.emit("aten.add.Tensor", a=rows, b=columns(build, y, 16, 32))


def summed(build: Builder, x: Tensor) -> Tensor:
    y = layer(build, x, 32, 1)
    part = build.emit("aten.exp", x=columns(build, y, 0, 1))
    return build.emit("aten.add.Tensor", a=part, b=y)


@pytest.mark.parametrize(
    ("make", "rows"), [(overlapping, 3), (normalized, 3), (summed, 3), (gated("aten.gelu"), 1)]
)
def test_other_layers_are_not_split(library: OpLibrary, make: Make, rows: int) -> None:
    found = rewritten(library, graph_of(library, make, rows, 12), split_linear_layers)
    assert found[LINEAR] == 1


def test_equal_calls_are_merged(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        a, b = (build.emit("aten.exp", x=build.emit("aten.silu", x=x)) for _ in range(2))
        c = build.emit("aten.clamp", x=x, min=0.0, max=1.0)
        d = build.emit("aten.clamp", x=x, min=0.0, max=2.0)
        one = build.emit("aten.add.Tensor", a=a, b=b)
        return build.emit("aten.add.Tensor", a=one, b=build.emit("aten.mul.Tensor", a=c, b=d))

    found = rewritten(library, graph_of(library, make, 4), merge_equal_calls)
    assert found["aten.silu"] == found["aten.exp"] == 1 and found["aten.clamp"] == 2


def test_calls_of_states_and_results_are_not_merged(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        graph = build.graph
        state = Tensor("s", DType.F32, x.shape)
        once, again = (build.emit("aten.add.Tensor", a=x, b=state) for _ in range(2))
        graph.states = [State(state, once)]
        return again

    assert rewritten(library, graph_of(library, make, 4), merge_equal_calls).total() == 2
