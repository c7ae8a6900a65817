"""The comparison of two graphs by their results."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from spirloom.builder import Builder
from spirloom.ir import DType, Graph, State, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.symbolic import computed
from spirloom.symbolic.computed import Incomparable, compute_the_same, difference

from spec_model.interval import Interval
from tests.frontend.models import Make, graph_of, random

WEIGHT = random(3, 4)


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


def returning(values: npt.ArrayLike, dtype: npt.DTypeLike = np.float32, name: str = "y") -> Graph:
    """A graph whose output is a constant."""
    return Graph(outputs=[constant(name, np.array(values, dtype))])


INF, NAN = np.inf, np.nan
# Values, others, their type, and how they differ.
RESULTS: list[tuple[list[float], list[float], npt.DTypeLike, str]] = [
    ([1.0], [1.00005], np.float32, ""),
    ([1.0], [1.001], np.float32, "differ by 0.001"),
    ([1000.0, 0.001], [1000.0, 0.006], np.float32, ""),
    ([1000.0, 0.001], [1000.0, 0.101], np.float32, "differ by 0.1"),
    ([INF, 0.001], [INF, 0.101], np.float32, "differ by 0.1"),
    ([1.0], [1.005], np.float16, ""),
    ([1.0], [1.0625], np.float16, "differ by 0.0625"),
    ([INF, NAN, 1.0], [INF, NAN, 1.0], np.float32, ""),
    ([INF, 1.0], [-INF, 1.0], np.float32, "differ by inf"),
    ([1.0, 2.0], [NAN, 3.0], np.float32, "differ by 1"),
    ([1.0], [NAN], np.float32, "differ by nan"),
    ([100000], [100001], np.int32, "differ by 1"),
    ([True, False], [True, True], np.bool_, "differ by 1"),
    ([0, 255], [0, 255], np.uint8, ""),
]


@pytest.mark.parametrize(("values", "others", "dtype", "found"), RESULTS)
def test_distances(
    values: list[float],
    others: list[float],
    dtype: npt.DTypeLike,
    found: str,
    library: OpLibrary,
) -> None:
    graphs = returning(values, dtype), returning(others, dtype)
    expected = f"the values of 'y' {found}" if found else ""
    assert difference(*graphs, library, strict=False) == expected
    assert compute_the_same(*graphs, library) == (found == "")


def test_other_shapes_dtypes_and_names(library: OpLibrary) -> None:
    one = returning([1.0, 2.0])
    assert difference(one, returning([[1.0, 2.0]]), library, strict=False) == (
        "the values of 'y' are float32 [1, 2], not float32 [2]"
    )
    assert difference(one, returning([1, 2], np.int32), library, strict=False) == (
        "the values of 'y' are int32 [2], not float32 [2]"
    )
    assert difference(one, returning([1.0, 2.0], name="z"), library, strict=False) == (
        "its outputs are ['z'], not ['y']"
    )


@pytest.mark.parametrize("swapped", [False, True])
def test_fp16_in_one_of_the_graphs(swapped: bool, library: OpLibrary) -> None:
    """The tolerance is that of fp16 if a tensor of either graph is fp16."""

    def rounded(build: Builder, x: Tensor) -> Tensor:
        half = build.emit("aten._to_copy", x=product(build, x), dtype="f16")
        return build.emit("aten._to_copy", x=half, dtype="f32")

    makes = (rounded, product) if swapped else (product, rounded)
    assert same(library, *makes)


def test_lists_of_tensors(library: OpLibrary) -> None:
    def joined(*parts: float) -> Make:
        def make(build: Builder, x: Tensor) -> Tensor:
            factors = [constant("c", np.array([part], np.float32)) for part in parts]
            scaled = tuple(build.emit("aten.mul.Tensor", a=x, b=factor) for factor in factors)
            return build.emit("aten.cat", tensors=scaled, dim=0)

        return make

    assert same(library, joined(2.0), joined(2.0)) and same(library, joined(1, 2), joined(1, 2))
    assert not same(library, joined(2.0), joined(3.0))
    assert not same(library, joined(1, 2), joined(2, 1))


def test_larger_models_are_not_compared(
    library: OpLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    large, small = (graph_of(library, make, 2, 3) for make in (product, lambda _, x: x))
    monkeypatch.setattr(computed, "_MAX_CONSTANTS", WEIGHT.size)
    assert compute_the_same(large, large, library)
    monkeypatch.setattr(computed, "_MAX_CONSTANTS", WEIGHT.size - 1)
    for graphs in ((large, small), (small, large)):
        with pytest.raises(Incomparable, match="more than 11 constant elements"):
            difference(*graphs, library, strict=False)


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


def of_integers(
    library: OpLibrary, make: Make, bounds: Interval | None = None, dtype: DType = DType.I32
) -> Graph:
    """A graph of 1000 elements x within bounds."""
    graph = Graph([Tensor("x", dtype, (1000,), bounds=bounds)])
    graph.outputs = [make(Builder(library, graph), graph.inputs[0])]
    graph.outputs[0].name = "y"
    return graph


def unchanged(build: Builder, x: Tensor) -> Tensor:
    return build.emit("aten.view", x=x, size=x.shape)


def clamped(low: float, high: float) -> Make:
    """Changes only values that are not from low to high."""
    return lambda build, x: build.emit("aten.clamp", x=x, min=low, max=high)


BOUNDS = [(0, 1), (-5, 5), (100, 103), (-9, -9), (-3, -1)]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("dtype", [DType.I32, DType.I8])
def test_integers_take_all_values_of_their_bounds(
    bounds: tuple[int, int], dtype: DType, library: OpLibrary
) -> None:
    def differs(low: float, high: float) -> bool:
        one, other = (
            of_integers(library, make, Interval(*bounds), dtype)
            for make in (unchanged, clamped(low, high))
        )
        return difference(one, other, library, strict=True) != ""

    low, high = bounds
    assert not differs(low, high)
    assert differs(low + 1, high + 1) and differs(low - 1, high - 1)


@pytest.mark.parametrize("bounds", [*BOUNDS, (-1000, 1000), (100, 1000), (-1000, -100), (-9, 3)])
def test_several_integers_within_the_bounds(bounds: tuple[int, int], library: OpLibrary) -> None:
    def same_as(make: Make) -> bool:
        one, other = (of_integers(library, m, Interval(*bounds)) for m in (unchanged, make))
        return compute_the_same(one, other, library)

    low, high = bounds
    assert same_as(clamped(low, high))
    assert same_as(lambda build, x: build.emit("aten.flip", x=x, dims=(0,))) is (low == high)


@pytest.mark.parametrize("bounds", [None, (0, 1000), (-1000, 1000), (-16, 15)])
@pytest.mark.parametrize("dtype", [DType.I32, DType.U8, DType.I8])
def test_integers_may_be_indices_into_small_tables(
    bounds: tuple[int, int] | None, dtype: DType, library: OpLibrary
) -> None:
    """Bounds are those of the largest sizes; at the smallest ones, tables have fewer rows."""

    def row(build: Builder, x: Tensor) -> Tensor:
        index = build.emit("aten._to_copy", x=x, dtype="i32")
        return build.emit("aten.embedding", x=constant("table", random(16, 2)), index=index)

    interval = None if bounds is None else Interval(*bounds)
    graph = of_integers(library, row, interval, dtype)
    assert difference(graph, graph, library, strict=False) == ""
    plain = of_integers(library, unchanged, interval, dtype)
    for low, same in ((0, True), (1, False)):
        other = of_integers(library, clamped(low, 100), interval, dtype)
        assert compute_the_same(plain, other, library) is same


def test_bools_are_true_and_false(library: OpLibrary) -> None:
    plain = of_integers(library, unchanged, dtype=DType.B8)
    for value in (False, True):
        everywhere = constant("c", np.full(1000, value))
        other = of_integers(library, lambda *_, y=everywhere: y, dtype=DType.B8)
        assert not compute_the_same(plain, other, library)


@pytest.mark.parametrize(
    ("op", "dtype", "factors", "exceeding"),
    [("mul", DType.I32, (32767, 65536), None), ("mul", DType.I32, (32768, 65536), 1 << 31),
     ("mul", DType.I32, (-32768, 65536), None), ("mul", DType.I32, (-32769, 65536), -2147549184),
     ("mul", DType.I8, (100, 3), None), ("bitwise_left_shift", DType.I8, (1, 40), None)],
)  # fmt: skip
def test_integers_that_do_not_fit(
    op: str, dtype: DType, factors: tuple[int, int], exceeding: int | None, library: OpLibrary
) -> None:
    """Values of 0 and 1 times factors. Only with `strict`, and of int32 only, they must fit."""

    def scaled(build: Builder, x: Tensor) -> Tensor:
        build.name = "node"
        for factor in factors:
            by = constant("c", np.array(factor, dtype.numpy))
            x = build.emit(f"aten.{op}.Tensor", a=x, b=by)
        return x

    graph = of_integers(library, scaled, Interval(0, 1), dtype)
    expected = (
        f"node 'node' (aten.{op}.Tensor) computes {exceeding}, which int32 does not represent"
    )
    assert difference(graph, graph, library, strict=True) == (expected if exceeding else "")
    assert compute_the_same(graph, graph, library)
