"""Compares what two graphs compute, by the operators' references."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from spirloom.ir import ArgValue, Array, DType, Graph, Tensor
from spirloom.op_library import OpError, OpLibrary

log = logging.getLogger("spirloom")

_SEEDS = (0, 1)
_MOST_CONSTANTS = 1 << 28  # elements; of larger models, references take minutes
_INTEGERS = 8  # values of integer inputs, such as indices, from 0
_RELATIVE, _RELATIVE_F16 = 1e-4, 1e-2  # tolerances
_OF_LARGEST = 0.1  # of the relative tolerance


class Incomparable(Exception):
    """Two graphs cannot be compared; the message is the reason."""


def compute_the_same(a: Graph, b: Graph, library: OpLibrary) -> bool:
    """Whether the outputs and states of two graphs with the same inputs agree for random inputs.
    False also for graphs that cannot be compared."""
    try:
        return not difference(a, b, library)
    except Incomparable as error:
        log.debug("The graphs cannot be compared: %s.", error)
        return False


def difference(a: Graph, b: Graph, library: OpLibrary, strict: bool = False) -> str:
    """How the outputs and states of two graphs with the same inputs differ for random inputs; empty
    if they agree. Raises Incomparable for graphs that are too large, and for a call without a
    reference. `strict`: an integer that does not fit its dtype is a difference, too.
    """
    if max(map(_constant_elements, (a, b))) > _MOST_CONSTANTS:
        raise Incomparable(f"it has more than {_MOST_CONSTANTS} constant elements")
    has_f16 = any(t.dtype is DType.F16 for graph in (a, b) for t in graph.tensors())
    tolerance = _RELATIVE_F16 if has_f16 else _RELATIVE
    try:
        for seed in _SEEDS:
            inputs = _random_inputs(a, seed, strict)
            results, others = (compute(graph, inputs, library, strict) for graph in (a, b))
            if results.keys() != others.keys():
                return f"its outputs are {sorted(others)}, not {sorted(results)}"
            for name, result in results.items():
                if not _agree(result, others[name], tolerance):
                    return f"the values of '{name}' differ by {_distance(result, others[name])}"
    except Overflow as error:
        return str(error)
    # References fail in many ways for random values, such as indices out of range.
    except (OpError, ArithmeticError, LookupError, MemoryError, ValueError) as error:
        raise Incomparable(f"a reference fails ({error})") from error
    return ""


class Overflow(Exception):
    """An integer does not fit its dtype."""


def compute(
    graph: Graph, inputs: Mapping[str, Array], library: OpLibrary, strict: bool = False
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
    if dtype is not DType.I32 or result.dtype.kind not in "iu" or not result.size:
        return False
    limits = np.iinfo(np.int32)
    return bool(result.min() < limits.min or result.max() > limits.max)


def _distance(a: Array, b: Array) -> str:
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"type: {a.dtype} {list(a.shape)} and {b.dtype} {list(b.shape)}"
    with np.errstate(all="ignore"):
        return f"{np.nanmax(np.abs(a.astype(np.float64) - b.astype(np.float64))):.3g}"


def _value(arg: ArgValue, values: Mapping[Tensor, Array]) -> object:
    if isinstance(arg, Tensor):
        if arg in values:
            return values[arg]
        if arg.data is None:
            raise OpError(f"tensor '{arg.name}' has no value")
        return arg.data
    if isinstance(arg, tuple) and arg and isinstance(arg[0], Tensor):
        return [_value(item, values) for item in arg if isinstance(item, Tensor)]
    return arg


def _stored(result: Array, dtype: DType) -> Array:
    if result.dtype == dtype.numpy:
        return result
    if dtype.numpy.kind == "V":  # bfloat16 and 8-bit floats, which NumPy does not have
        raise OpError(f"tensors of {dtype.value} are not compared")
    with np.errstate(all="ignore"):
        return result.astype(dtype.numpy)


def _random_inputs(graph: Graph, seed: int, all_values: bool) -> dict[str, Array]:
    """Values of the inputs. `all_values`: integers with bounds take all values of these."""
    random = np.random.default_rng(seed)
    return {tensor.name: _random(tensor, random, all_values) for tensor in graph.inputs}


def _random(tensor: Tensor, random: np.random.Generator, all_values: bool) -> Array:
    match tensor.dtype.numpy.kind:
        case "f":
            return random.standard_normal(tensor.shape).astype(tensor.dtype.numpy)
        case "b":
            return random.integers(0, 2, tensor.shape).astype(np.bool_)
        case "i" | "u":
            low, high = 0, _INTEGERS
            if tensor.bounds is not None and all_values:
                low, high = int(tensor.bounds.low), int(tensor.bounds.high) + 1
            elif tensor.bounds is not None:
                low = max(int(tensor.bounds.low), low) if tensor.bounds.low <= high else high
                high = min(int(tensor.bounds.high) + 1, low + _INTEGERS)
            return random.integers(low, max(high, low + 1), tensor.shape).astype(tensor.dtype.numpy)
        case _:
            raise OpError(f"inputs of {tensor.dtype.value} are not compared")


def _agree(a: Array, b: Array, tolerance: float) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    finite = np.abs(a[np.isfinite(a)].astype(np.float64))
    absolute = _OF_LARGEST * tolerance * float(finite.max(initial=0.0))
    return bool(np.allclose(a, b, tolerance, absolute, equal_nan=True))


def _constant_elements(graph: Graph) -> int:
    shapes: Sequence[tuple[int, ...]] = [t.shape for t in graph.tensors() if t.is_constant]
    return sum(map(prod, shapes))
