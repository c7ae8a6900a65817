"""Compares what two graphs compute, by the operators' references."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from spirloom.ir import ArgValue, Array, DType, Graph, Tensor
from spirloom.op_library import OpError, OpLibrary

log = logging.getLogger("spirloom")

_RUNS = 2
_MAX_CONSTANTS = 1 << 28  # elements; of larger models, references take minutes
_LARGEST = 7  # of integer inputs, such as indices, that may be smaller
_RELATIVE, _RELATIVE_F16 = 1e-4, 1e-2  # tolerances
_OF_LARGEST = 0.1  # of the relative tolerance


class Incomparable(Exception):
    """Two graphs cannot be compared; the message is the reason."""


def compute_the_same(a: Graph, b: Graph, library: OpLibrary) -> bool:
    """Whether the outputs and states of two graphs with the same inputs agree for random inputs.
    False also for graphs that cannot be compared."""
    try:
        return not difference(a, b, library, strict=False)
    except Incomparable as error:
        log.debug("The graphs cannot be compared: %s.", error)
        return False


def difference(a: Graph, b: Graph, library: OpLibrary, strict: bool) -> str:
    """How the outputs and states of two graphs with the same inputs differ for random inputs; empty
    if they agree. Raises Incomparable for graphs that are too large, and for a call without a
    reference. `strict`: integer inputs have all values of their bounds, and an integer that does
    not fit its dtype is a difference, too.
    """
    if max(map(_constant_elements, (a, b))) > _MAX_CONSTANTS:
        raise Incomparable(f"it has more than {_MAX_CONSTANTS} constant elements")
    has_f16 = any(t.dtype is DType.F16 for graph in (a, b) for t in graph.tensors())
    tolerance = _RELATIVE_F16 if has_f16 else _RELATIVE
    random = np.random.default_rng(0)
    try:
        for _ in range(_RUNS):
            inputs = {tensor.name: _random(tensor, random, strict) for tensor in a.inputs}
            results, others = (compute(graph, inputs, library, strict) for graph in (a, b))
            if results.keys() != others.keys():
                return f"its outputs are {sorted(others)}, not {sorted(results)}"
            for name, result in results.items():
                found = _difference_of(result, others[name], tolerance)
                if found:
                    return f"the values of '{name}' {found}"
    except Overflow as error:
        return str(error)
    # References fail in many ways for random values, such as indices out of range.
    except (OpError, ArithmeticError, LookupError, MemoryError, ValueError) as error:
        raise Incomparable(f"a reference fails ({error})") from error
    return ""


class Overflow(Exception):
    """An integer does not fit its dtype."""


def compute(
    graph: Graph, inputs: Mapping[str, Array], library: OpLibrary, strict: bool
) -> dict[str, Array]:
    """The outputs, and the updates of states from their initial values, by name. Tensors are
    rounded to their dtypes, as on a device. Raises OpError for a call without a reference, and with
    `strict` Overflow for an integer that does not fit its dtype.
    """
    values: dict[Tensor, Array] = {tensor: inputs[tensor.name] for tensor in graph.inputs}
    for state in graph.states:
        zeros = np.zeros(state.tensor.shape, state.tensor.dtype.numpy)
        values[state.tensor] = zeros if state.initial is None else state.initial
    for node in graph.nodes:
        names = library.arg_names(node.op)[: len(node.args)]
        args = {name: _value(arg, values) for name, arg in zip(names, node.args, strict=True)}
        results = library.compute(node.op, args)
        for tensor, result in zip(node.outputs, results, strict=True):
            if result.shape != tensor.shape:
                raise OpError(f"{node.op} returns {list(result.shape)}, not {list(tensor.shape)}")
            values[tensor] = _stored(result, tensor.dtype)
            if strict and _overflows(result, tensor.dtype):
                largest = result.flat[np.abs(result).argmax()]
                where = f"node '{node.name}' ({node.op}) computes {largest}"
                raise Overflow(f"{where}, which {tensor.dtype.long_name} does not represent")
    found = {tensor.name: _value(tensor, values) for tensor in graph.outputs}
    found |= {f"state {s.tensor.name}": _value(s.update, values) for s in graph.states}
    return found  # type: ignore[return-value] # arrays, because the arguments are tensors


def _overflows(result: Array, dtype: DType) -> bool:
    """Whether integers do not fit int32. Narrower integers wrap by definition."""
    if dtype is not DType.I32 or result.dtype.kind not in "iu":
        return False
    return not np.array_equal(result, result.astype(np.int32))


def _value(arg: ArgValue, values: Mapping[Tensor, Array]) -> object:
    if isinstance(arg, Tensor):
        if arg in values:
            return values[arg]
        if arg.data is None:
            raise OpError(f"tensor '{arg.name}' has no value")
        return arg.data
    if isinstance(arg, tuple):
        return tuple(_value(item, values) for item in arg)
    return arg


def _stored(result: Array, dtype: DType) -> Array:
    if result.dtype == dtype.numpy:
        return result
    if dtype.numpy.kind == "V":  # bfloat16 and 8-bit floats, which NumPy does not have
        raise OpError(f"tensors of {dtype.value} are not compared")
    with np.errstate(all="ignore"):
        return result.astype(dtype.numpy)


def _random(tensor: Tensor, random: np.random.Generator, all_values: bool) -> Array:
    """Values of an input. `all_values`: integers with bounds take all values of these."""
    dtype = tensor.dtype.numpy
    match dtype.kind:
        case "f":
            return random.standard_normal(tensor.shape).astype(dtype)
        case "b":
            return random.choice([False, True], tensor.shape)
        case "i" | "u":
            low, high = 0, _LARGEST
            if tensor.bounds is not None:
                low, high = int(tensor.bounds.low), int(tensor.bounds.high)
                if not all_values:
                    low = max(low, min(0, high - _LARGEST))
                    high = min(high, low + _LARGEST)
            return random.integers(low, high, tensor.shape, endpoint=True).astype(dtype)
        case _:
            raise OpError(f"inputs of {tensor.dtype.value} are not compared")


def _difference_of(a: Array, b: Array, tolerance: float) -> str:
    """How two results differ; empty if they agree."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"are {b.dtype} {list(b.shape)}, not {a.dtype} {list(a.shape)}"
    if a.dtype.kind != "f":
        tolerance = 0.0
    with np.errstate(all="ignore"):
        finite = np.abs(a[np.isfinite(a)].astype(np.float64))
        absolute = _OF_LARGEST * tolerance * float(finite.max(initial=0.0))
        if np.allclose(a, b, tolerance, absolute, equal_nan=True):
            return ""
        distances = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return f"differ by {np.fmax.reduce(distances, axis=None):.3g}"


def _constant_elements(graph: Graph) -> int:
    shapes: Sequence[tuple[int, ...]] = [t.shape for t in graph.tensors() if t.is_constant]
    return sum(map(prod, shapes))
