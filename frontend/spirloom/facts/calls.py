"""Random calls of operators: those of test cases, with random values in random bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from hypothesis import assume, strategies
from hypothesis.strategies import DrawFn, SearchStrategy

from spec_model import Arg, ArgType, Op, TensorCase, TensorType
from spec_model.expr.types import EvalError
from spec_model.interval import Interval, of_array
from spec_model.spec import CaseValue
from spec_model.stored_float import encoded, float_format
from spirloom.casegen.arrays import Inputs, make_inputs, reference_results
from spirloom.casegen.case_pack import NamedArray
from spirloom.casegen.runs import Run, case_name, run_of
from spirloom.casegen.values import widened
from spirloom.ir import Array, DType

# Ends of intervals and values of numbers: from few integers, of which many coincide, to large ones.
_MAGNITUDES = (3, 40, 2000, 1 << 20, (1 << 31) - 1)
_SPECIAL = (0.0, 1.0, 0.5, 1e-3, 65504.0, 1e6)


@dataclass(frozen=True, repr=False)
class Call:
    """A call with the values of its tensors and the bounds that are known of them."""

    run: Run
    inputs: Inputs
    bounds: Mapping[str, tuple[Interval, ...]]

    @property
    def types(self) -> dict[str, object]:
        """The arguments for formulas; tensors with their bounds."""
        return {arg.name: self._type(arg) for arg in self.run.op.args}

    def _type(self, arg: Arg) -> object:
        value = self.run.test.args[arg.name]
        if not arg.type.is_tensor or value is None:
            return value
        dtype = self.run.dtypes[arg.name]
        items = value if isinstance(value, tuple) else (value,)
        types = tuple(
            TensorType(cast(TensorCase, item).shape, dtype, bounds=bounds)
            for item, bounds in zip(items, self.bounds[arg.name], strict=True)
        )
        return types if isinstance(value, tuple) else types[0]

    @cached_property
    def results(self) -> list[Array]:
        """The results of the reference, unrounded."""
        return self.results_of(self.inputs)

    def results_of(self, inputs: Inputs) -> list[Array]:
        """The results of the reference for other values. Raises SpecError or NotImplementedError if
        it does not accept them."""
        return reference_results(self.run, inputs)

    def with_size(self, size: int, other: int) -> Call | None:
        """The call with leading parts of the tensors: dimensions and ints of lists that are `size`
        become `other`, which is smaller. None if that is not a valid call."""

        def sizes(values: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(other if n == size else n for n in values)

        def value(given: CaseValue) -> CaseValue:
            if isinstance(given, TensorCase):
                return replace(given, shape=sizes(given.shape), values=None)
            if isinstance(given, tuple) and given and isinstance(given[0], TensorCase):
                return tuple(cast(TensorCase, value(item)) for item in given)
            return sizes(cast("tuple[int, ...]", given)) if isinstance(given, tuple) else given

        args = {name: value(given) for name, given in self.run.test.args.items()}
        run = _with_args(self.run, args)
        if run is None:
            return None
        inputs = {
            name: tuple(replace(x, data=x.data[tuple(map(slice, sizes(x.data.shape)))]) for x in xs)
            for name, xs in self.inputs.items()
        }
        return Call(run, inputs, self.bounds)

    def tensors(self, own: bool = True) -> list[Array]:
        """The tensors as references read them. `own`: only those of the operator's dtype."""
        args = (arg for arg in self.run.op.args if arg.has_op_dtype or not own)
        return [widened(x.data) for arg in args for x in self.inputs.get(arg.name, ())]

    def __str__(self) -> str:
        name = case_name(self.run.op, self.run.test.args)
        ranges = ", ".join(
            f"{arg} in {' and '.join(map(str, bounds))}" for arg, bounds in self.bounds.items()
        )
        return f"{name} ({self.run.variant.dtype}): {ranges}"


def distinct_runs(op: Op) -> list[Run]:
    """A run of each test case and dtype, the smallest first."""
    found: dict[tuple[int, DType], Run] = {}
    for i, test in enumerate(op.tests):
        for variant in op.variants:
            if (i, variant.dtype) not in found:
                run = run_of(op, str(i), test, variant)
                if run is not None:
                    found[i, variant.dtype] = run
    return sorted(found.values(), key=_elements)


def _elements(run: Run) -> int:
    values = (item for value in run.test.args.values()
              for item in (value if isinstance(value, tuple) else (value,)))  # fmt: skip
    return sum(int(np.prod(item.shape)) for item in values if isinstance(item, TensorCase))


def calls_of(runs: list[Run]) -> SearchStrategy[Call]:
    """Calls of one of the runs."""

    # The runs are no argument: Hypothesis would make a text of them for each call.
    @strategies.composite
    def call(draw: DrawFn) -> Call:
        run = runs[draw(strategies.integers(0, len(runs) - 1))]
        return _call(draw, _with_ints(draw, _with_numbers(draw, run)))

    return call()


def _call(draw: DrawFn, run: Run) -> Call:
    arrays: dict[str, tuple[NamedArray, ...]] = {}
    bounds: dict[str, tuple[Interval, ...]] = {}
    for name, items in make_inputs(run).items():
        drawn = [_values(draw, run, name, item) for item in items]
        arrays[name] = tuple(array for array, _ in drawn)
        bounds[name] = tuple(interval for _, interval in drawn)
    return Call(run, arrays, bounds)


def _with_numbers(draw: DrawFn, run: Run) -> Run:
    """The run with other values of the numbers that the bounds depend on, if that is a valid
    call."""
    names = frozenset[str]().union(*(e.names for e in run.op.bounds if e is not None))
    args = dict(run.test.args)
    for arg in run.op.args:
        if arg.name in names and arg.type in (ArgType.NUMBER, ArgType.FLOAT):
            whole = not run.variant.dtype.is_float or draw(strategies.booleans())
            kept, own = args[arg.name], _number(draw, whole)
            args[arg.name] = kept if draw(strategies.booleans()) else own
    return _with_args(run, args) or run


def _with_ints(draw: DrawFn, run: Run) -> Run:
    """The run with another value of one int argument, if that is a valid call."""
    found = [arg for arg in run.op.args if arg.type in (ArgType.INT, ArgType.INTS)]
    if not found or not draw(strategies.booleans()):
        return run
    arg = draw(strategies.sampled_from(found))
    value, kept = draw(strategies.integers(-4, 9)), run.test.args[arg.name]
    if isinstance(kept, tuple):
        at = draw(strategies.integers(0, max(len(kept) - 1, 0)))
        other: CaseValue = (*kept[:at], value, *kept[at + 1 :]) if kept else kept
    else:
        other = value
    return _with_args(run, {**run.test.args, arg.name: other}) or run


def _with_args(run: Run, args: Mapping[str, CaseValue]) -> Run | None:
    """The run with other arguments; None if that is not a valid call."""
    try:
        return run_of(run.op, run.case, replace(run.test, args=args), run.variant)
    except EvalError:
        return None


def _number(draw: DrawFn, whole: bool) -> float:
    limit = draw(strategies.sampled_from(_MAGNITUDES[:3]))
    if whole:
        return float(draw(strategies.integers(-limit, limit)))
    return draw(strategies.floats(-limit, limit, width=32))


def _values(draw: DrawFn, run: Run, name: str, item: NamedArray) -> tuple[NamedArray, Interval]:
    """Values of a tensor and their bounds: random ones, or those of the case if the operator only
    accepts these."""
    arg = next(arg for arg in run.op.args if arg.name == name)
    dtype = run.dtypes[name]
    outputs = {y.name: t.dtype for y, t in zip(run.op.outputs, run.outputs, strict=True)}
    limits = run.op.domain.of(name, dtype, outputs)
    if arg.dtype is not None or dtype is DType.B8 or limits is None:
        return item, of_array(widened(item.data))
    low, high = (
        max(limits[0], dtype.row.min, -_MAGNITUDES[-1]),
        min(limits[1], dtype.row.max, _MAGNITUDES[-1]),
    )
    integral = not dtype.is_float or draw(strategies.booleans())
    known = _interval(draw, low, high, integral)
    seed = draw(strategies.integers(0, 1 << 16))
    return replace(item, data=_random(known, item.data.shape, dtype, seed)), known


def _interval(draw: DrawFn, low: float, high: float, integral: bool) -> Interval:
    """An interval within the limits; often of one sign."""
    largest = draw(strategies.sampled_from(_MAGNITUDES))
    first, last = max(low, -largest), min(high, largest)
    signed = (first, last), (max(first, 1), last), (first, min(last, -1))
    first, last = draw(strategies.sampled_from([each for each in signed if each[0] <= each[1]]))
    if integral:
        numbers = strategies.integers(int(np.ceil(first)), int(np.floor(last)))
        ends = sorted((draw(numbers), draw(numbers)))
        return Interval(ends[0], ends[1])
    special = [v for v in (*_SPECIAL, *(-x for x in _SPECIAL)) if first <= v <= last]
    reals = strategies.floats(first, last, allow_nan=False)
    reals = reals if not special else reals | strategies.sampled_from(special)
    # Without -0, which NumPy takes for less than 0.
    first, last = sorted(draw(reals) + 0.0 for _ in range(2))
    return Interval(first, last, integral=False)


def _random(known: Interval, shape: tuple[int, ...], dtype: DType, seed: int) -> Array:
    """Values within an interval, many at its ends."""
    random = np.random.default_rng(seed)
    inside: Array = random.uniform(known.low, known.high, shape)
    if known.integral:
        inside = random.integers(int(known.low), int(known.high), shape, endpoint=True)
    ends = random.choice(np.array([known.low, known.high]), shape)
    values = np.where(random.random(shape) < 0.3, ends, inside)
    if float_format(dtype) is not None:
        return _inside(encoded(values, dtype), known, dtype)
    with np.errstate(over="ignore"):
        return _inside(values.astype(dtype.numpy), known, dtype)


def _inside(values: Array, known: Interval, dtype: DType) -> Array:
    """The values that rounding left in the interval; one of these for others."""
    wide = widened(values)
    valid = (wide >= known.low) & (wide <= known.high)
    if valid.all():
        return values
    flat = values.reshape(-1)[valid.reshape(-1)]
    assume(flat.size > 0)
    return np.where(valid, values, flat[0]).astype(values.dtype)
