"""Ranges of values that narrowing derives contain what random graphs compute, in 64 bits and in the
32 bits that replace them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Graph, Tensor, constant
from spirloom.narrowing import Narrowing
from spirloom.op_library import OpLibrary
from spirloom.value_bounds import (
    ValueRange,
    exact_interval,
    is_wide,
    known_of,
    narrow_type,
    narrowed,
)

from spec_model.interval import EVERYTHING, Interval, of_array, of_type
from tests.sample import runs_all, seed

COUNT = 2000 if runs_all() else 120
INT64, INT32, FLOAT32, FLOAT64 = map(np.dtype, (np.int64, np.int32, np.float32, np.float64))
LIMITS = np.iinfo(np.int32)
SCALES = (1, 3, 100, 1 << 15, 1 << 24, (1 << 31) - 1)
WORDS: dict[str, dict[str, Any]] = {"aten.div.Tensor_mode": {"rounding_mode": "floor"}}
BINARY = tuple(f"aten.{name}" for name in (
    "add.Tensor", "sub.Tensor", "mul.Tensor", "maximum", "minimum", "floor_divide", "fmod.Tensor",
    "remainder.Tensor", "bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor",
    "div.Tensor_mode",
))  # fmt: skip
UNARY: tuple[tuple[str, dict[str, Any]], ...] = (
    ("aten.neg", {}), ("aten.abs", {}), ("aten.clamp", {"min": -7.0, "max": 100.0}),
    ("aten.sum.dim_IntList", {"dim": (0,), "keepdim": True}), ("aten.flip", {"dims": (0,)}),
    ("aten.cumsum", {"dim": 0}), ("aten.argmax", {"dim": 0, "keepdim": True}),
    ("aten.relu", {}), ("aten.sign", {}), ("aten.amax", {"dim": (0,), "keepdim": True}),
)  # fmt: skip


class Values:
    """A graph in the making, its values in 64 bits, and its ranges."""

    def __init__(self, library: OpLibrary, choose: random.Random, assume_int32: bool) -> None:
        self.library, self.choose = library, choose
        self.build = Builder(library, Graph([]))
        self.narrowing = Narrowing(library, assume_int32=assume_int32)
        self.values: dict[Tensor, Array] = {}
        self.constants: set[Tensor] = set()  # and results of these only

    def add_input(self) -> None:
        scale = self.choose.choice(SCALES)
        low, high = sorted(self.choose.randint(-scale, scale) for _ in range(2))
        if self.choose.random() < 0.3:
            low = abs(low) % max(abs(high), 1)
            high = max(abs(high), low)
        values = np.array([self.choose.choice((low, high, self.choose.randint(low, high)))
                           for _ in range(4)])  # fmt: skip
        if self.choose.random() < 0.2:
            tensor = constant(f"c{len(self.values)}", values.astype(np.int32))
            self.constants.add(tensor)
        else:
            tensor = Tensor(f"x{len(self.values)}", DType.I32, (4,))
            self.narrowing.declare(tensor, ValueRange(INT64, Interval(low, high)))
        self.values[tensor] = values

    def call(self) -> None:
        """A random call. Raises Unsupported if its result may not fit."""
        values = [*self.values]
        if self.choose.random() < 0.6:
            op = self.choose.choice(BINARY)
            a, b = self.choose.choice(values), self.choose.choice(values)
            if self.library.args(op)[1].name == "b" and ("div" in op or "mod" in op or "rem" in op):
                b = next((v for v in values if not (self.values[v] == 0).any()), a)
                if (self.values[b] == 0).any() or _contains_zero(self.narrowing.bounds_of(b)):
                    return
            args: dict[str, Any] = {"a": a, "b": b, **WORDS.get(op, {})}
        else:
            op, more = self.choose.choice(UNARY)
            args = {"x": self.choose.choice(values), **more}
        outputs = self.build.emit_all(op, **args)
        wide = {name: self.values[v] if isinstance(v, Tensor) else v for name, v in args.items()}
        completed = dict(
            zip(self.library.arg_names(op), self.library.complete(op, args), strict=True)
        )
        results = [y.astype(np.int64) for y in self.library.evaluate(op, completed, wide)]
        self.narrowing.follow(op, args, outputs, [None] * len(outputs))
        if all(v in self.constants for v in args.values() if isinstance(v, Tensor)):
            self.constants.update(outputs)
            results = [y.astype(np.int32).astype(np.int64) for y in results]  # int32 wraps
        self.values.update(zip(outputs, results, strict=True))


def _contains_zero(x: Interval) -> bool:
    return x.low <= 0 <= x.high


@pytest.mark.parametrize("assumes", [False, True])
def test_random_calls(library: OpLibrary, assumes: bool) -> None:
    """A result whose bounds exceed 32 bits is refused, or assumed to fit; all others have their
    values in 32 bits."""
    choose = random.Random(2 * seed() + assumes)
    refused = done = 0
    for _ in range(COUNT):
        made = Values(library, choose, assume_int32=assumes)
        for _ in range(3):
            made.add_input()
        for _ in range(8):
            try:
                made.call()
            except Unsupported as error:
                refused += 1
                assert "is int64 and" in str(error) and not assumes
        for tensor, values in made.values.items():
            done += 1
            found = made.narrowing.range_of(tensor)
            assert found.dtype == (INT32 if tensor in made.constants else INT64)
            assert found.exact and found.bounds.within(of_type(INT32))
            if not assumes:
                assert of_array(values).within(found.bounds), tensor.name
    assert done > 3 * COUNT and (assumes or refused > COUNT // 12)


def test_a_refused_call_has_bounds_beyond_32_bits(library: OpLibrary) -> None:
    for high in (LIMITS.max // 2, LIMITS.max // 2 + 1):
        narrowing = Narrowing(library)
        x = Tensor("x", DType.I32, (4,))
        narrowing.declare(x, ValueRange(INT64, Interval(0, high)))
        args: dict[str, Any] = {"a": x, "b": x}
        outputs = Builder(library, Graph([])).emit_all("aten.add.Tensor", **args)
        if 2 * high <= LIMITS.max:
            narrowing.follow("aten.add.Tensor", args, outputs, [None])
            assert narrowing.bounds_of(outputs[0]) == Interval(0, 2 * high)
        else:
            with pytest.raises(Unsupported, match="'sum' is int64 and is only known to be in"):
                narrowing.follow("aten.add.Tensor", args, outputs, [None], "sum")
            assert not narrowing.is_known(outputs[0])


def test_results_have_the_widest_type_of_the_arguments(library: OpLibrary) -> None:
    narrowing = Narrowing(library)
    x, c = Tensor("x", DType.I32, (2,)), constant("c", np.array([1, 2], np.int32))
    narrowing.declare(x, ValueRange(INT64, Interval(0, LIMITS.max)))
    for args in ({"a": x, "b": c}, {"a": c, "b": x}):
        outputs = Builder(library, Graph([])).emit_all("aten.add.Tensor", **args)
        with pytest.raises(Unsupported, match=r"is only known to be in 1\.\.2147483649"):
            narrowing.follow("aten.add.Tensor", args, outputs, [None])


def test_assumed_results_are_clamped_to_32_bits(library: OpLibrary) -> None:
    for low, high in ((0, LIMITS.max), (LIMITS.min, 5), (LIMITS.min, LIMITS.max)):
        narrowing = Narrowing(library, assume_int32=True)
        x = Tensor("x", DType.I32, (2,))
        narrowing.declare(x, ValueRange(INT64, Interval(low, high)))
        args: dict[str, Any] = {"a": x, "b": x}
        outputs = Builder(library, Graph([])).emit_all("aten.add.Tensor", **args)
        narrowing.follow("aten.add.Tensor", args, outputs, [None])
        found = Interval(max(2 * low, LIMITS.min), min(2 * high, LIMITS.max))
        assert narrowing.range_of(outputs[0]) == ValueRange(INT64, found)


def test_lists_of_tensors(library: OpLibrary) -> None:
    """The types and bounds of their results are those of all of them."""
    narrowing = Narrowing(library)
    parts = tuple(Tensor(name, DType.I32, (2,)) for name in "xy")
    narrowing.declare(parts[0], ValueRange(INT32, Interval(0, 5)))
    narrowing.declare(parts[1], ValueRange(INT64, Interval(-7, 1)))
    args: dict[str, Any] = {"tensors": parts, "dim": 0}
    outputs = Builder(library, Graph([])).emit_all("aten.cat", **args)
    narrowing.follow("aten.cat", args, outputs, [None])
    assert narrowing.range_of(outputs[0]) == ValueRange(INT64, Interval(-7, 5))


# A call, the types of its arguments in the model, and that of its result.
UNSTATED: list[tuple[str, dict[str, Any], dict[str, np.dtype[Any]], np.dtype[Any]]] = [
    ("aten.index_select", {"dim": 0}, {"x": INT32, "index": INT64}, INT32),
    ("aten.index_select", {"dim": 0}, {"x": INT64, "index": INT32}, INT64),
    ("aten.add.Tensor", {}, {"a": INT32, "b": INT64}, INT64),
    ("aten._to_copy", {"dtype": "i32"}, {"x": INT64}, INT64),
    ("aten._to_copy", {"dtype": "i32"}, {"x": INT32}, INT32),
    ("aten._to_copy", {"dtype": "i32"}, {"x": FLOAT32}, INT64),
    ("aten._to_copy", {"dtype": "f32"}, {"x": INT32}, FLOAT32),
    ("aten.argmax", {}, {"x": FLOAT32}, INT64),
    ("aten.eq.Tensor", {}, {"a": INT64, "b": INT64}, np.dtype(bool)),
]


@pytest.mark.parametrize(("op", "options", "types", "expected"), UNSTATED)
def test_types_that_the_model_does_not_state(
    op: str,
    options: dict[str, Any],
    types: dict[str, np.dtype[Any]],
    expected: np.dtype[Any],
    library: OpLibrary,
) -> None:
    """The widest of the tensors with the operator's dtype; for indices, PyTorch's type."""
    narrowing = Narrowing(library)
    args = {name: Tensor(name, narrow_type(dtype), (2,)) for name, dtype in types.items()}
    for name, dtype in types.items():
        narrowing.declare(args[name], ValueRange(dtype, Interval(0, 1)))
    for dtypes in ([], [None]):
        outputs = Builder(library, Graph([])).emit_all(op, **args, **options)
        narrowing.follow(op, {**args, **options}, outputs, dtypes)
        assert narrowing.dtype_of(outputs[0]) == expected


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize(
    ("op", "options", "type_", "high", "exact"),
    [
        ("aten._to_copy", {"dtype": "f32"}, FLOAT32, np.inf, True),
        ("aten._to_copy", {"dtype": "f32"}, FLOAT64, np.inf, True),
        ("aten._to_copy", {"dtype": "f32"}, INT64, 1 << 24, True),
        ("aten._to_copy", {"dtype": "f32"}, INT64, (1 << 24) + 1, False),
        ("aten.flip", {"dims": (0,)}, FLOAT64, np.inf, True),
        ("aten.exp", {}, FLOAT64, np.inf, False),
    ],
)
def test_float64_results(
    op: str, options: dict[str, Any], type_: np.dtype[Any], high: float, exact: bool,
    rounded: bool, library: OpLibrary,
) -> None:  # fmt: skip
    """Copies of floats are exact, others where the rounding is accepted."""
    narrowing = Narrowing(library, float64_as_float32=rounded)
    x = Tensor("x", narrow_type(type_), (2,))
    narrowing.declare(x, ValueRange(type_, Interval(0, high, type_.kind != "f")))
    outputs = Builder(library, Graph([])).emit_all(op, x=x, **options)
    if exact or rounded:
        narrowing.follow(op, {"x": x, **options}, outputs, [FLOAT64])
        assert narrowing.dtype_of(outputs[0]) == FLOAT64
    else:
        with pytest.raises(Unsupported, match="'y' is float64 and would be computed in float32"):
            narrowing.follow(op, {"x": x, **options}, outputs, [FLOAT64], "y")


def test_calls_before_their_results_are_declared(library: OpLibrary) -> None:
    """The ranges follow from those of the arguments: 64-bit integers remain wide where a call only
    selects elements, others are those of a device, which wraps."""
    choose = random.Random(seed())
    wide = 0
    for _ in range(COUNT):
        made = Values(library, choose, assume_int32=True)
        for _ in range(2):
            made.add_input()
        for _ in range(5):
            made.call()
        nodes = made.build.graph.nodes
        narrowing = Narrowing(library, makers={t: node for node in nodes for t in node.outputs})
        device: dict[Tensor, Array] = {}
        for tensor, values in made.values.items():
            if tensor not in {t for node in nodes for t in node.outputs}:
                device[tensor] = values
                if not tensor.is_constant:
                    narrowing.declare(tensor, made.narrowing.range_of(tensor))
        for node in nodes:
            args = library.named_args(node)
            given = {name: device[v] if isinstance(v, Tensor) else v for name, v in args.items()}
            results = library.evaluate(node.op, args, given)
            for tensor, result in zip(node.outputs, results, strict=True):
                device[tensor] = result.astype(np.int32).astype(np.int64)
                found = narrowing.range_of(tensor)
                wide += found.dtype == INT64
                if found.bounds.within(of_type(INT32)):
                    assert of_array(device[tensor]).within(found.bounds), node
    assert wide > COUNT // 10


DTYPES = [np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4, 8)]


@pytest.mark.parametrize("dtype", [*DTYPES, np.dtype(bool), FLOAT32, FLOAT64, np.dtype(np.float16)])
def test_replacement_types(dtype: np.dtype[Any]) -> None:
    """The replacement represents the values of the exact interval, and no value after it."""
    target = narrow_type(dtype).numpy
    assert is_wide(dtype) == (target != dtype)
    if dtype.kind == "b" or not is_wide(dtype):
        return
    ends = exact_interval(dtype)
    inside = np.array([ends.low, ends.high, 0], dtype)
    assert narrowed(inside).dtype == target and (narrowed(inside) == inside).all()
    limits = of_type(dtype) if dtype.kind != "f" else Interval(-(1 << 60), 1 << 60)
    for outside in (ends.low - 1, ends.high + 1):
        if limits.low <= outside <= limits.high:
            with pytest.raises(Unsupported, match=rf"its {dtype} constant .* is not representable"):
                narrowed(np.array([0, outside], dtype))
        values = Interval(min(outside, 0), max(outside, 0))
        assert not ValueRange(dtype, values).exact
    assert ValueRange(dtype, ends).exact


def test_rounded_constants() -> None:
    for value, fits in ((0.5, True), (np.nan, True), (np.inf, True), (0.1, False), (1e300, False)):
        values = np.array([1.0, value])
        assert narrowed(values, rounds_float64=True).dtype == np.float32
        if fits:
            np.testing.assert_array_equal(narrowed(values), values)
        else:
            with pytest.raises(Unsupported, match=r"accept its rounding with --float64-as-float32"):
                narrowed(values)
    with pytest.raises(Unsupported, match=r"in int32$"):
        narrowed(np.array([1 << 40]))
    for name in ("complex64", "S3"):
        with pytest.raises(Unsupported, match="the element type .* is not supported"):
            narrow_type(np.dtype(name))


def test_known_ranges() -> None:
    """The bounds of results that are computed in their own type are those that the type has, of
    floats only if they bound integers."""
    small, large = Interval(-5, 5), Interval(-5, 1 << 31)
    assert known_of(DType.I32, INT64, large) == ValueRange(INT64, large)
    assert known_of(DType.I32, None, small) == ValueRange(INT32, small)
    assert known_of(DType.I32, INT32, small) == ValueRange(INT32, small)
    assert known_of(DType.I32, None, large) == ValueRange(INT32, of_type(INT32))
    for limit in (1 << 24, (1 << 24) + 1):
        for integral in (True, False):
            for bounds in (Interval(0, limit, integral), Interval(-limit, 0, integral)):
                known = bounds if limit == 1 << 24 else EVERYTHING
                assert known_of(DType.F32, None, bounds) == ValueRange(FLOAT32, known)
