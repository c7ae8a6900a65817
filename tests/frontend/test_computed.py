"""The comparison of two graphs by their results."""

from __future__ import annotations

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, State, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.symbolic.computed import compute_the_same
from spirloom.symbolic.minimum import check_minimum

from tests.frontend.models import Make, graph_of, random

WEIGHT = random(3, 4)
SIZES = {"n": 2}


def linear(build: Builder, x: Tensor) -> Tensor:
    return build.emit("aten.linear", x=x, weight=constant("w", WEIGHT.T.copy()))


def product(build: Builder, x: Tensor) -> Tensor:
    return build.emit("aten.matmul", a=x, b=constant("w", WEIGHT))


def other_product(build: Builder, x: Tensor) -> Tensor:
    weight = WEIGHT.copy()
    weight[2, 3] += np.float32(0.01)
    return build.emit("aten.matmul", a=x, b=constant("w", weight))


def same(library: OpLibrary, one: Make, other: Make) -> bool:
    return compute_the_same(graph_of(library, one, 2, 3), graph_of(library, other, 2, 3), library)


def test_other_calls_with_the_same_results(library: OpLibrary) -> None:
    assert same(library, linear, product)


def test_one_other_weight(library: OpLibrary) -> None:
    assert not same(library, linear, other_product)


def test_other_shapes_and_dtypes(library: OpLibrary) -> None:
    def flat(build: Builder, x: Tensor) -> Tensor:
        return build.emit("aten.view", x=product(build, x), size=(8,))

    def rounded(build: Builder, x: Tensor) -> Tensor:
        return build.emit("aten._to_copy", x=product(build, x), dtype="f16")

    assert not same(library, product, flat)
    assert not same(library, product, rounded)


def test_values_that_are_not_finite(library: OpLibrary) -> None:
    def logarithm(build: Builder, x: Tensor) -> Tensor:
        return build.emit("aten.log", x=x)  # NaN of negative numbers

    def of_magnitude(build: Builder, x: Tensor) -> Tensor:
        return build.emit("aten.log", x=build.emit("aten.abs", x=x))

    assert same(library, logarithm, logarithm)
    assert not same(library, logarithm, of_magnitude)


def test_states_count(library: OpLibrary) -> None:
    def counting(step: float) -> Graph:
        graph = graph_of(library, product, 2, 3)
        state = Tensor("total", DType.F32, (2, 4))
        build = Builder(library, graph)
        update = build.emit("aten.add.Tensor", a=state, b=graph.outputs[0], alpha=step)
        graph.states.append(State(state, update))
        return graph

    assert compute_the_same(counting(1.0), counting(1.0), library)
    assert not compute_the_same(counting(1.0), counting(2.0), library)


def test_a_graph_without_a_comparison_differs(library: OpLibrary) -> None:
    def half(build: Builder, x: Tensor) -> Tensor:
        return build.emit("aten._to_copy", x=x, dtype="bf16")

    assert not same(library, half, half)


@pytest.mark.parametrize("error", [IndexError, ValueError, ZeroDivisionError, MemoryError])
def test_a_graph_whose_reference_fails_differs(
    error: type[Exception], library: OpLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(OpLibrary, "compute", fail)
    assert not same(library, product, product)


def test_the_minimum_is_accepted_by_its_results(library: OpLibrary) -> None:
    fixed, symbolic = (graph_of(library, make, 2, 3) for make in (linear, product))
    check_minimum(symbolic, fixed, symbolic, SIZES, library)


def test_another_result_at_the_minimum_is_refused(library: OpLibrary) -> None:
    fixed, symbolic = (graph_of(library, make, 2, 3) for make in (linear, other_product))
    with pytest.raises(ImportFailure, match=r"n=2, node 'node' \(aten.linear\) takes the place"):
        check_minimum(symbolic, fixed, symbolic, SIZES, library)
