"""Programs that are imported once for all sizes: with which sizes they are compared, which ranges
are narrowed, and what is refused."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import pytest
from spirloom.builder import Builder
from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.sizes import Symbol
from spirloom.symbolic.import_check import Make
from spirloom.symbolic.open_graph import Refuted, TooSmall, import_graph, open_graph

from spec_model.symbolic import maximum, minimum

N, M = Symbol("n", 1, 9), Symbol("m", 2, 7)

# The operator of a node at sizes.
Choice = Callable[[Mapping[str, int]], str]


def unchanged(graph: Graph) -> Graph:
    return graph


def unary(library: OpLibrary, choice: Choice) -> Make:
    """A call of x, of [n, m] or [n] elements."""

    def plain(sizes: Mapping[str, int]) -> Graph:
        graph = Graph([Tensor("x", DType.F32, tuple(sizes.get(s, 3) for s in "nm"))])
        build = Builder(library, graph)
        build.name = "node"
        graph.outputs = [build.emit(f"aten.{choice(sizes)}", x=graph.inputs[0])]
        return graph

    return plain


def pooled(library: OpLibrary, kernel: tuple[int, int], joined: bool = False) -> Make:
    """The maximum of an image of [n, m], or of two images one below the other, of [n + m, 1], after
    pooling: invalid if no window is within the image."""

    def plain(sizes: Mapping[str, int]) -> Graph:
        n, m = (sizes.get(s, 3) for s in "nm")
        shapes = [(1, 1, n, 1), (1, 1, m, 1)] if joined else [(1, 1, n, m)]
        graph = Graph([Tensor(f"x{i}", DType.F32, shape) for i, shape in enumerate(shapes)])
        build = Builder(library, graph)
        build.name = "node"
        image = build.emit("aten.cat", tensors=tuple(graph.inputs), dim=2)
        windows = build.emit("aten.max_pool2d", x=image, kernel_size=kernel, stride=(1, 1))
        graph.outputs = [build.emit("aten.amax", x=windows, dim=(2, 3))]
        return graph

    return plain


def opened(library: OpLibrary, plain: Make, symbols: Sequence[Symbol], **compared_at: int) -> Graph:
    return open_graph(plain, unchanged, symbols, library, compared_at or None)


def test_graphs_with_and_without_symbols(library: OpLibrary) -> None:
    plain = unary(library, lambda _: "relu")
    fixed = import_graph(plain, unchanged, [], library)
    assert fixed.symbols == () and fixed.inputs[0].shape == (3, 3)
    graph = import_graph(plain, unchanged, [N], library)
    assert graph.symbols == (N,) and list(map(str, graph.inputs[0].shape)) == ["n", "3"]


def other_at(library: OpLibrary, size: int) -> Make:
    """A call of another operator at one size. An equality that only some sizes satisfy is false for
    a symbolic size."""
    return unary(library, lambda sizes: "abs" if sizes["n"] == size else "relu")


def test_the_minimum_is_compared(library: OpLibrary) -> None:
    for size, accepted in ((1, False), (2, True), (5, True), (9, True)):
        plain = other_at(library, size)
        if accepted:
            assert opened(library, plain, [N]).nodes[0].op == "aten.relu"
        else:
            with pytest.raises(ImportFailure, match=r"minimum, n=1, .*abs.* the place of .*relu"):
                opened(library, plain, [N])


def test_other_sizes_are_compared(library: OpLibrary) -> None:
    for size, accepted in ((1, True), (2, False), (9, True)):
        plain = other_at(library, size)
        if accepted:
            opened(library, plain, [N], n=2)
        else:
            with pytest.raises(ImportFailure, match=r"n=2, .*abs.* the place of .*relu"):
                opened(library, plain, [N], n=2)


def below(library: OpLibrary, limit: int) -> Make:
    return unary(library, lambda sizes: "abs" if sizes["n"] < limit else "relu")


def test_ranges_are_narrowed_to_those_of_one_structure(
    library: OpLibrary, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        graph = opened(library, below(library, 3), [M, N])
    assert graph.symbols == (M, Symbol("n", 3, 9)) and graph.nodes[0].op == "aten.relu"
    (guard,) = graph.guards
    assert guard.endswith("relies on n - 3 >= 0")
    assert caplog.messages == [f"--dim n is narrowed to 3..9: {guard}."]


def test_structures_that_no_narrower_range_has(library: OpLibrary) -> None:
    with pytest.raises(Refuted, match="relies on n - 9 >= 0, which is false at n=1"):
        opened(library, below(library, 9), [N])  # a single size


def test_chosen_sizes_are_not_narrowed(library: OpLibrary) -> None:
    with pytest.raises(Refuted, match="relies on n - 3 >= 0, which is false at n=1"):
        opened(library, below(library, 3), [N], n=4)
    with pytest.raises(TooSmall, match="at n=2"):
        opened(library, pooled(library, (3, 1)), [Symbol("n", 2, 9)], n=2)


@pytest.mark.parametrize("low", [1, 2])
@pytest.mark.parametrize("kernel", [(3, 1), (3, 4), (1, 4), (8, 6), (1, 1)])
def test_ranges_are_narrowed_to_valid_sizes(
    kernel: tuple[int, int], low: int, library: OpLibrary
) -> None:
    symbols = [Symbol("n", low, 9), M]
    graph = opened(library, pooled(library, kernel), symbols)
    assert graph.symbols == (Symbol("n", max(kernel[0], low), 9), Symbol("m", max(kernel[1], 2), 7))


@pytest.mark.parametrize("kernel", [(9, 1), (10, 1), (1, 8), (3, 7)])
def test_less_than_two_valid_sizes_are_refused(kernel: tuple[int, int], library: OpLibrary) -> None:
    with pytest.raises(ImportFailure, match="cannot vary in size"):
        opened(library, pooled(library, kernel), [N, M])


def test_sums_of_sizes_narrow_no_symbol(library: OpLibrary) -> None:
    """Each of n and m may have its minimum if the other one is large enough."""
    with pytest.raises(ImportFailure, match="at n=1, m=2, node 'node'"):
        opened(library, pooled(library, (4, 1), joined=True), [N, M])
    graph = opened(library, pooled(library, (3, 1), joined=True), [N, M])
    assert graph.symbols == (N, M)


@pytest.mark.parametrize(("wrong", "found"), [(1, True), (3, False), (5, True), (9, True)])
def test_shapes_are_inferred_at_the_ends_and_the_middle(
    wrong: int, found: bool, library: OpLibrary
) -> None:
    """A pass states a shape that is wrong at one size."""

    def stating(graph: Graph) -> Graph:
        (tensor,) = graph.outputs
        n, m = tensor.shape
        peak = maximum(minimum(n - (wrong - 1), (wrong + 1) - n), 0)
        tensor.shape = (n + peak, m)
        return graph

    plain = unary(library, lambda _: "relu")
    if found:
        with pytest.raises(ImportFailure, match=rf"at n={wrong}, .* returns \[{wrong}, 3\], not"):
            open_graph(plain, stating, [N], library, {"n": 7})
    else:
        open_graph(plain, stating, [N], library, {"n": 7})
