"""The bounds of results: the formula of a spec, its traits, or the dtype."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np
import pytest

from spec_model import DType, Op, TensorType
from spec_model.interval import EVERYTHING, Interval, exactly
from spec_model.output_bounds import bounded_args, output_bounds
from spec_model.symbolic import Guards, Symbol, general, sym
from tests.codegen.small_project import Project

SHAPE = (2, 3)


@dataclass(frozen=True)
class Calls:
    """Calls of the small project's operator with another output, or with traits."""

    project: Project

    def op(self, output: str = "", keys: str = "") -> Op:
        self.project.spec("dtype: a.dtype}", f"dtype: {output or 'a.dtype'}}}\n{keys}")
        return self.project.load().ops["aten.add.Tensor"]

    def formula(self, text: str) -> Op:
        return self.op(keys=f'bounds: "{text}"')


@pytest.fixture
def calls(project: Project) -> Calls:
    return Calls(project)


def bounds(
    op: Op, a: Interval = EVERYTHING, b: Interval = EVERYTHING, dtype: DType = DType.F32
) -> Interval:
    """Of a call with tensors of a dtype."""
    types = {name: TensorType(SHAPE, dtype, bounds=x) for name, x in (("a", a), ("b", b))}
    (found,) = output_bounds(op, types, {})
    return found


def test_nothing_is_known_without_a_formula(calls: Calls) -> None:
    op = calls.op()
    assert bounds(op, exactly(1), exactly(1)) == EVERYTHING
    assert bounded_args(op, {}) == frozenset()


def test_selected_elements_are_elements_of_the_inputs(calls: Calls) -> None:
    op = calls.op(keys="traits: selects")
    assert bounds(op, Interval(-2, 1), Interval(5, 6)) == Interval(-2, 6)
    assert bounded_args(op, {}) == {"a", "b"}


def test_tensors_of_other_dtypes_are_not_selected_from(calls: Calls) -> None:
    calls.project.spec("  b: tensor\n", "  b: tensor<i32>\n")
    op = calls.op(keys="traits: selects")
    assert bounds(op, Interval(-2, 1), Interval(5, 6)) == Interval(-2, 1)


def test_a_formula_precedes_traits(calls: Calls) -> None:
    op = calls.op(keys='traits: selects\nbounds: "max(a, 0)"')
    assert bounds(op, Interval(-2, 1), Interval(5, 6)) == Interval(0, 1)
    assert bounded_args(op, {}) == {"a"}


@pytest.mark.parametrize(("dtype", "expected"), [("b8", Interval(0, 1)), ("i32", EVERYTHING)])
def test_results_of_a_fixed_dtype(calls: Calls, dtype: str, expected: Interval) -> None:
    assert bounds(calls.op(output=dtype), Interval(2, 3), Interval(2, 3)) == expected


@pytest.mark.parametrize(
    ("text", "a", "expected"),
    [
        ("max(a, 0)", EVERYTHING, Interval(0, inf, integral=False)),
        ("min(a, 0)", EVERYTHING, Interval(-inf, 0, integral=False)),
        ("a * 10", exactly(1e308), EVERYTHING),
        ("a * 10", exactly(-1e308), EVERYTHING),
        ("between(0, numel(y))", EVERYTHING, Interval(0, 6)),  # of the output
        ("a + numel(b)", Interval(0, 1), Interval(6, 7)),
        ("a + alpha", Interval(0, 2), Interval(1, 3)),
    ],
)
def test_formulas(calls: Calls, text: str, a: Interval, expected: Interval) -> None:
    assert bounds(calls.formula(text), a) == expected


def test_intermediate_values(calls: Calls) -> None:
    op = calls.op(keys='let: {half: numel(a) // 2, other: half + 1}\nbounds: "between(0, other)"')
    assert bounds(op) == Interval(0, 4)


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.I32])
def test_floats_are_rounded_outward(calls: Calls, dtype: DType) -> None:
    """A sum of integers that the dtype cannot hold is the next float outside, as NumPy rounds."""
    found = bounds(calls.formula("a + b"), exactly(1 << 24), exactly(1), dtype)
    total = (1 << 24) + 1
    if dtype is DType.I32:
        assert found == exactly(total)
        return
    with np.errstate(over="ignore"):
        near = dtype.numpy.type(total)
    assert (near == inf and found.high == inf) or total < found.high == near + 2
    assert found.low <= total
    third = bounds(calls.project.load().ops["aten.add.Tensor"], exactly(0.5), exactly(0.1), dtype)
    assert third.low < 0.6 < third.high


def test_a_narrower_input_rounds(calls: Calls) -> None:
    """Values that a kernel reads as fp16 are rounded to fp16."""
    calls.project.spec("  b: tensor\n", "  b: tensor<f16>\n")
    op = calls.formula("a + 1")
    types = {"a": TensorType(SHAPE, DType.F32, bounds=exactly(2048)),
             "b": TensorType(SHAPE, DType.F16, bounds=exactly(0))}  # fmt: skip
    (found,) = output_bounds(op, types, {})
    assert (found.low, found.high) == (2048, 2050)  # neighbours of 2049 in fp16
    types["a"] = TensorType(SHAPE, DType.I32, bounds=exactly(2048))
    assert output_bounds(op, types, {}) == [exactly(2049)]  # an integer result


def test_values_that_vary_with_sizes_are_not_decided(calls: Calls) -> None:
    n = sym(Symbol("n", 1, 8))
    op = calls.formula("between(0, numel(a) if numel(a) > 4 else 1)")
    with general(Guards()):
        types = {name: TensorType((n,), DType.F32) for name in ("a", "b")}
        assert output_bounds(op, types, {}) == [EVERYTHING]


def test_numbers_that_depend_on_sizes(calls: Calls) -> None:
    op = calls.formula("a + alpha")
    types = {name: TensorType(SHAPE, DType.F32, bounds=exactly(1)) for name in ("a", "b")}
    assert output_bounds(op, {**types, "alpha": 2.0}, {}) == [exactly(3)]
    assert output_bounds(op, {**types, "alpha": 2.0}, {"alpha": Interval(4, 6)}) == [Interval(5, 7)]


def _of_shape(shape: tuple[int, ...], **more: object) -> Callable[[Op], Interval]:
    def found(op: Op) -> Interval:
        types = {"a": TensorType(shape, DType.F32), "b": TensorType((2, 2), DType.F32)}
        return output_bounds(op, {**types, **more}, {})[0]

    return found


@pytest.mark.parametrize("first", ["tensor", "tensor<f32>"])
def test_indices_of_a_dimension(calls: Calls, first: str) -> None:
    """Of the first tensor's `dim`, or of all of its elements."""
    calls.project.spec("  a: tensor\n", f"  a: {first}\n")
    calls.project.spec("  alpha: float = 1.0\n", "  alpha: float = 1.0\n  dim: int[] = []\n")
    op = calls.op(output="i32", keys="traits: returns_indices")
    assert _of_shape((4, 7))(op) == Interval(0, 27)
    assert _of_shape((4, 7), dim=(0,))(op) == Interval(0, 3)
    assert _of_shape((4, 7), dim=(0, 1))(op) == Interval(0, 27)
    assert _of_shape((), dim=(0,))(op) == Interval(0, 0)
    with general(Guards()):
        assert _of_shape((sym(Symbol("n", 2, 9)), 7), dim=(0,))(op) == Interval(0, 8)


def test_indices_along_a_number(calls: Calls) -> None:
    calls.project.spec("  alpha: float = 1.0\n", "  alpha: float = 1.0\n  dim: int = 0\n")
    op = calls.op(output="i32", keys="traits: returns_indices")
    assert _of_shape((4, 7), dim=1)(op) == Interval(0, 6)
    assert _of_shape((), dim=0)(op) == Interval(0, 0)
