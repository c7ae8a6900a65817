"""A symbolic graph at its minimum sizes is compared with the model that was imported at these."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Tensor, constant
from spirloom.op_library import OpLibrary
from spirloom.symbolic.minimum import check_minimum

from tests.frontend.models import Make, graph_of, random

SIZES = {"n": 2}
WEIGHT = random(3, 4)
BIAS = random(4)


def only(op: str, **args: object) -> Make:
    """One call of x."""
    return lambda build, x: build.emit(op, x=x, **args)


def chain(*makes: Make) -> Make:
    def make(build: Builder, x: Tensor) -> Tensor:
        for step in makes:
            x = step(build, x)
        return x

    return make


def by(op: str, *values: float) -> Make:
    """A call of x and a constant."""
    c = np.array(values, np.float32)
    return lambda build, x: build.emit(f"aten.{op}.Tensor", a=x, b=constant("c", c))


def by_number(op: str, step: float, size: int = 1) -> Make:
    """A call of x and a value that nodes compute from a number, as from a size."""

    def make(build: Builder, x: Tensor) -> Tensor:
        number = build.emit("aten.full", size=(size,), fill_value=2.0)
        more = build.emit(
            "aten.add.Tensor", a=number, b=constant("c", np.array([step], np.float32))
        )
        return build.emit(f"aten.{op}.Tensor", a=x, b=build.emit("aten.neg", x=more))

    return make


def product(weight: Array) -> Make:
    return lambda build, x: build.emit("aten.matmul", a=x, b=constant("w", weight))


def linear(bias: bool) -> Make:
    return lambda build, x: build.emit(
        "aten.linear",
        x=x,
        weight=constant("w", WEIGHT.T.copy()),
        bias=constant("b", BIAS) if bias else None,
    )


def twice(build: Builder, x: Tensor) -> Tensor:
    """x, joined from two copies and cut."""
    pair = build.emit("aten.cat", tensors=(x, x), dim=0)
    return build.emit("aten.slice.Tensor", x=pair, dim=0, start=0, end=2, step=1)


def cast(dtype: str) -> Make:
    return only("aten._to_copy", dtype=dtype)


def view(*shape: int) -> Make:
    return only("aten.view", size=shape)


def resized(height: int, width: int) -> Make:
    return only("aten.upsample_nearest2d", output_size=(height, width))


RELU, ABS = only("aten.relu"), only("aten.abs")
ROUND_TRIP = chain(cast("f16"), cast("f32"))
NAN = float("nan")

# Calls at fixed sizes, and those of the symbolic graph, which are the same apart from sizes,
# layout, and values that are constants at fixed sizes.
SAME: dict[str, tuple[Make, Make]] = {
    "dimension": (only("aten.sum.dim_IntList", dim=(1,)),
                  chain(only("aten.permute", dims=(1, 0)), only("aten.sum.dim_IntList", dim=(0,)))),
    "layout": (RELU, chain(view(6), RELU, view(2, 3))),
    "join": (RELU, chain(twice, RELU)),
    "cast": (RELU, chain(ROUND_TRIP, RELU)),
    "own_size": (chain(view(1, 1, 2, 3), RELU), chain(view(1, 1, 2, 3), resized(2, 3), RELU)),
    "larger_constant": (by("mul", 2), by("mul", 2, 2, 2)),
    "undefined_constant": (by("mul", NAN, 2, 2), by("mul", NAN, 2, 2)),
    "large_constants": (product(random(3, 6)), product(random(3, 6, seed=1))),
    "number": (by("add", -5), by_number("add", 3)),
    "filled": (by_number("add", 3, size=3), by_number("add", 3, size=3)),
}  # fmt: skip

# Calls that differ in one fact.
DIFFERENT: dict[str, tuple[Make, Make]] = {
    "operator": (RELU, ABS),
    "operator_of_one_element": (chain(view(6), only("aten.amax")),
                                chain(view(6), only("aten.amin"))),
    "dtype": (RELU, chain(cast("f16"), RELU, cast("f32"))),
    "float": (only("aten.leaky_relu", negative_slope=0.1),
              only("aten.leaky_relu", negative_slope=0.2)),
    "number": (chain(cast("i32"), only("aten.clamp", min=0, max=5)),
               chain(cast("i32"), only("aten.clamp", min=0, max=7))),
    "str": (only("aten.gelu", approximate="none"), only("aten.gelu", approximate="tanh")),
    "bool": (only("aten.topk", k=2, largest=False), only("aten.topk", k=2, largest=True)),
    "optional": (linear(bias=True), linear(bias=False)),
    "constant": (by("mul", 2, 3, 4), by("mul", 2, 3, 5)),
    "undefined_constant": (by("mul", NAN, 2, 3), by("mul", NAN, 2, 4)),
    "more": (chain(RELU, ABS), RELU),
    "less": (RELU, chain(RELU, ABS)),
    "filled": (by("add", -5), by_number("add", 3, size=3)),
    "own_size": (chain(view(1, 1, 2, 3), resized(4, 3), resized(2, 3), RELU),
                 chain(view(1, 1, 2, 3), RELU)),
}  # fmt: skip


def check(library: OpLibrary, fixed: Make, formulas: Make, passed: Make | None = None) -> None:
    """Compares calls with those of a symbolic graph before and after the passes."""
    makes = (passed or formulas, fixed, formulas)
    graph, smallest, before = (graph_of(library, make, 2, 3) for make in makes)
    check_minimum(graph, smallest, before, SIZES, library)


def incomparable(pair: tuple[Make, Make]) -> tuple[Make, Make]:
    """The calls with a result that is not compared, so that only the calls are."""
    one, other = (chain(make, cast("bf16")) for make in pair)
    return one, other


@pytest.mark.parametrize("name", SAME)
def test_the_same_calls(name: str, library: OpLibrary) -> None:
    check(library, *incomparable(SAME[name]))


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_calls(name: str, library: OpLibrary) -> None:
    with pytest.raises(ImportFailure, match=r"at the minimum, n=2, .* takes the place of "):
        check(library, *incomparable(DIFFERENT[name]))


def test_other_calls_with_the_same_results(library: OpLibrary) -> None:
    check(library, linear(bias=False), product(WEIGHT))


def test_other_calls_with_other_results(library: OpLibrary) -> None:
    weight = WEIGHT.copy()
    weight[2, 3] += np.float32(0.01)
    message = r"n=2, node 'node' \(aten.linear\) takes the place of node 'node' \(aten.matmul\)"
    with pytest.raises(ImportFailure, match=message):
        check(library, linear(bias=False), product(weight))


@pytest.mark.parametrize(("fixed", "formulas"), [(RELU, cast("f32")), (cast("f32"), RELU)])
def test_messages_of_missing_calls(fixed: Make, formulas: Make, library: OpLibrary) -> None:
    names = {RELU: r"node 'node' \(aten.relu\)"}
    one, other = (names.get(make, "nothing") for make in (fixed, formulas))
    with pytest.raises(ImportFailure, match=f"n=2, {one} takes the place of {other}, not as at"):
        check(library, fixed, formulas)


def test_other_shapes_of_outputs(library: OpLibrary) -> None:
    with pytest.raises(ImportFailure, match=r"output 'y' is f32\[2, 3\], and f32\[3, 2\] by its"):
        check(library, RELU, RELU, passed=chain(RELU, view(3, 2)))


def cut(start: int) -> Make:
    return only("aten.slice.Tensor", dim=1, start=start, end=start + 2, step=1)


def added(*index: int) -> Make:
    """x, to whose rows of these indices 1 is added."""

    def make(build: Builder, x: Tensor) -> Tensor:
        rows = constant("index", np.array(index, np.int32))
        source = constant("ones", np.ones((len(index), 3), np.float32))
        return build.emit("aten.index_add", x=x, dim=0, index=rows, src=source)

    return make


MEAN = only("aten.mean.dim", dim=(1,))
WEIGHTS = random(3, 6)

# Calls before the passes and after, whose sizes agree or whose results are the same.
PASSED: Mapping[str, tuple[Make, Make]] = {
    "other_values": (product(WEIGHTS), product(np.round(WEIGHTS))),
    "other_rank": (chain(view(2, 1, 3), product(WEIGHTS), view(2, 6)), product(np.round(WEIGHTS))),
    "fused": (chain(RELU, ABS), RELU),
    "moved": (chain(RELU, cut(0)), chain(cut(0), RELU)),
    "empty": (added(), added()),
}

# Calls before the passes and after, with other sizes and other results.
RESIZED: Mapping[str, tuple[Make, Make, str]] = {
    "moved": (chain(RELU, cut(0)), chain(cut(1), RELU),
              r"\(aten.relu\) computes 6 elements, and by formula 4 elements"),
    "reduced": (MEAN, chain(cut(1), MEAN),
                r"computes 2 elements and 6 elements, and by formula 2 elements and 4 elements"),
    "empty": (added(), added(0, 1),
              r"computes 6 elements of an empty tensor, and by formula 6 elements, not"),
}  # fmt: skip


@pytest.mark.parametrize("name", PASSED)
def test_sizes_that_passes_keep(name: str, library: OpLibrary) -> None:
    before, after = PASSED[name]
    check(library, before, before, after)


@pytest.mark.parametrize("name", RESIZED)
def test_sizes_that_differ_after_the_passes(name: str, library: OpLibrary) -> None:
    before, after, message = RESIZED[name]
    with pytest.raises(ImportFailure, match=message):
        check(library, before, before, after)
