"""Arrays of a run: its inputs and the reference results. Detects cases that expect one constant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from spec_model import Arg, ArgType, Diagnostic, SpecError, TensorCase
from spec_model.expr.semantics import as_number
from spec_model.spec import CaseValue
from spirloom.casegen.case_pack import NamedArray
from spirloom.casegen.runs import Run
from spirloom.casegen.values import (
    CaseError,
    has_denormals,
    make_array,
    rounded,
    widened,
    without_denormals,
)
from spirloom.ir import Array

Inputs = Mapping[str, tuple[NamedArray, ...]]  # by argument; a list has several


@dataclass(frozen=True, slots=True)
class Arrays:
    """The inputs and the expected outputs."""

    inputs: Inputs
    expected: tuple[NamedArray, ...]
    unfinished: str = ""  # the message of a reference that is not implemented


def make_arrays(run: Run) -> Arrays:
    """Fills the inputs and evaluates the reference.

    Devices may flush denormals to zero. Denormal inputs are kept only if this does not matter.
    """
    inputs = make_inputs(run)
    results, unfinished = _evaluate(run, inputs)
    if not unfinished and any(has_denormals(x.data) for xs in inputs.values() for x in xs):
        flushed = {name: tuple(map(_flushed, arrays)) for name, arrays in inputs.items()}
        flushed_results, _ = _evaluate(run, flushed)
        if not _agree(run, results, flushed_results):
            inputs, results = flushed, flushed_results
    return Arrays(inputs, _rounded(run, results), unfinished)


def _flushed(array: NamedArray) -> NamedArray:
    return replace(array, data=without_denormals(array.data))


def _agree(run: Run, results: list[Array], others: list[Array]) -> bool:
    for y, a, b in zip(run.outputs, results, others, strict=True):
        allowed = run.op.tolerance[y.dtype]
        if not np.allclose(a, b, rtol=allowed.rtol, atol=allowed.atol, equal_nan=True):
            return False
    return True


def _rounded(run: Run, results: list[Array]) -> tuple[NamedArray, ...]:
    if len(results) != len(run.outputs):
        raise CaseError(f"The reference returns {len(results)} results, not {len(run.outputs)}.")
    return tuple(
        NamedArray(output.name, tensor.dtype, rounded(result, tensor.dtype, tensor.shape))
        for output, tensor, result in zip(run.op.outputs, run.outputs, results, strict=True)
    )


def make_inputs(run: Run) -> Inputs:
    """Fills the inputs."""
    return {
        arg.name: tuple(_make_input(run, arg, *item) for item in items_of(run, arg))
        for arg in run.op.args
        if arg.type.is_tensor
    }


def _evaluate(run: Run, inputs: Inputs) -> tuple[list[Array], str]:
    """The results of the reference. Zeros and a message if it raises NotImplementedError."""
    try:
        return reference_results(run, inputs), ""
    except NotImplementedError as error:
        return [np.zeros(y.shape) for y in run.outputs], str(error) or "The reference is missing."


def reference_results(run: Run, inputs: Inputs) -> list[Array]:
    """The results of the reference, unrounded."""
    values = {
        arg.name: _reference_value(arg, value_of(run, arg), inputs.get(arg.name, ()))
        for arg in run.op.args
    }
    with np.errstate(all="ignore"):
        return run.op.reference(values)


def value_of(run: Run, arg: Arg) -> CaseValue:
    """The value of an argument. A NUMBER is an int if the dtype of the variant is an integer."""
    value = run.test.args[arg.name]
    if arg.type is ArgType.NUMBER:
        return as_number(cast(float, value), run.variant.dtype)
    return value


def items_of(run: Run, arg: Arg) -> Iterator[tuple[str, TensorCase]]:
    """The names and tensors of an argument in the graph."""
    match run.test.args[arg.name]:
        case TensorCase() as tensor:
            yield arg.name, tensor
        case tuple() as tensors:
            for i, tensor in enumerate(tensors):
                assert isinstance(tensor, TensorCase)
                yield f"{arg.name}{i}", tensor


def _make_input(run: Run, arg: Arg, name: str, tensor: TensorCase) -> NamedArray:
    dtype = run.dtypes[arg.name]
    return NamedArray(name, dtype, make_array(tensor, dtype, f"{run.op.name}/{run.case}/{name}"))


def _reference_value(arg: Arg, value: CaseValue, arrays: tuple[NamedArray, ...]) -> object:
    if not arg.type.is_tensor:
        return list(value) if isinstance(value, tuple) else value
    if value is None:
        return None
    wide = [widened(array.data) for array in arrays]
    return wide if isinstance(value, tuple) else wide[0]


@dataclass(slots=True)
class _Seen:
    first: Run
    output: str
    value: Array  # one element


@dataclass(slots=True)
class UniformOutputs:
    """Detects outputs of variants whose cases all expect one constant."""

    _seen: dict[tuple[str, str], _Seen] = field(default_factory=dict)
    _varied: set[tuple[str, str]] = field(default_factory=set)

    def add(self, run: Run, arrays: Arrays) -> None:
        """Records the expected outputs of a run."""
        for expected in arrays.expected:
            key = (run.variant.id, expected.name)
            if key in self._varied or not expected.data.size:
                continue
            values = expected.data.reshape(-1)
            seen = self._seen.setdefault(key, _Seen(run, expected.name, values[:1]))
            if run.test.uniform or arrays.unfinished or not _all_equal(seen.value, values):
                self._varied.add(key)

    def check(self) -> None:
        """Raises SpecError for each variant whose cases all expect one constant."""
        found: dict[tuple[object, str], Diagnostic] = {}
        for key, seen in self._seen.items():
            if key not in self._varied:
                position = seen.first.test.position
                found.setdefault((position, seen.output), Diagnostic(position, _message(seen)))
        if found:
            raise SpecError(found.values())


def _all_equal(value: Array, values: Array) -> bool:
    equal = values == value
    if value.dtype.kind == "f":
        equal |= np.isnan(values) & np.isnan(value)
    return bool(equal.all())


def _message(seen: _Seen) -> str:
    return (
        f"All cases of {seen.first.variant.id} expect the constant {seen.value[0]} in "
        f"{seen.output}: a kernel that writes only this constant would pass. Add a case with other "
        "expected values, or set 'uniform: true' in one if there are none."
    )
