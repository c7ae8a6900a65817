"""Fixed sizes and input values of a graph that is debugged."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spec_model.stored_float import encoded, float_format
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.sizes import Varying
from spirloom.symbolic.specialize import specialize
from spirloom.terminal import shown

# The size of a dynamic dimension that no input and no option sets, within its bounds.
DEFAULT_SIZE = 16
# The range of random integers, where the model allows it.
_MIN, _MAX = 0, 127


def at_sizes(
    graph: Graph, library: OpLibrary, given: Mapping[str, Array], sizes: Mapping[str, int]
) -> Graph:
    """The graph at fixed sizes: `sizes` by symbol, those of the given inputs, and otherwise 16 or
    the nearest size that the model allows.
    """
    if not graph.symbols:
        return graph
    known = {symbol.name for symbol in graph.symbols}
    for name in sizes:
        if name not in known:
            raise ImportFailure(
                f"The model has no dynamic size '{name}', only: {', '.join(sorted(known))}."
            )
    chosen = {**_sizes_of_inputs(graph, given), **sizes}
    for symbol in graph.symbols:
        size = chosen.setdefault(symbol.name, min(max(DEFAULT_SIZE, symbol.min), symbol.max))
        if not symbol.min <= size <= symbol.max:
            raise ImportFailure(
                f"The size '{symbol.name}' is {size}; the model allows {symbol.min} to "
                f"{symbol.max}."
            )
    fixed = specialize(graph, chosen, library)
    fixed.sources, fixed.name = graph.sources, graph.name
    return fixed


def _sizes_of_inputs(graph: Graph, given: Mapping[str, Array]) -> dict[str, int]:
    found = {}
    for tensor in graph.inputs:
        array = given.get(tensor.name)
        if array is None or array.ndim != len(tensor.shape):
            continue
        for size, actual in zip(tensor.shape, array.shape, strict=True):
            if isinstance(size, Varying) and size.expr is not None:
                symbols = size.expr.symbols()
                if str(size) in symbols:
                    found[str(size)] = actual
    return found


def complete_inputs(graph: Graph, given: Mapping[str, Array], seed: int | None) -> dict[str, Array]:
    """The values of all inputs, and of the states that are given, in the dtypes of the graph.

    Missing ones are random. `seed` None: all must be given. Raises ImportFailure for an unknown
    name and for a value of another shape.
    """
    tensors = {tensor.name: tensor for tensor in graph.given()}
    for name in given:
        if name not in tensors:
            known = ", ".join(shown(tensor.name) for tensor in graph.inputs)
            raise ImportFailure(f"There is no input '{name}'. The inputs are: {known}.")
    random = np.random.default_rng(seed)
    values = {name: _converted(tensors[name], array) for name, array in given.items()}
    for tensor in graph.inputs:
        if tensor.name not in values and seed is None:
            raise ImportFailure(
                f"The input '{tensor.name}' has no value. Use --input "
                f"{shown(tensor.name)}=FILE.npy, or --random for random values."
            )
        if tensor.name not in values:
            values[tensor.name] = random_values(tensor, random)
    return values


def _converted(tensor: Tensor, array: Array) -> Array:
    if array.shape != tensor.shape:
        raise ImportFailure(
            f"The input '{tensor.name}' has shape {list(array.shape)}; expected "
            f"{list(tensor.shape)}."
        )
    if array.dtype == tensor.dtype.numpy:
        return array
    if float_format(tensor.dtype) is not None:
        return encoded(array, tensor.dtype)
    return array.astype(tensor.dtype.numpy)


def random_values(tensor: Tensor, random: np.random.Generator) -> Array:
    """Normal floats, or integers within the bounds, from 0 to 127 if the bounds allow it."""
    if float_format(tensor.dtype) is not None:
        return encoded(random.standard_normal(tensor.shape), tensor.dtype)
    if tensor.dtype.is_float:
        return random.standard_normal(tensor.shape).astype(tensor.dtype.numpy)
    if tensor.dtype is DType.B8:
        return random.integers(0, 2, tensor.shape).astype(np.bool_)
    ends = np.iinfo(tensor.dtype.numpy)
    bounds = tensor.bounds
    least = int(ends.min) if bounds is None else max(int(bounds.low), int(ends.min))
    most = int(ends.max) if bounds is None else min(int(bounds.high), int(ends.max))
    low, high = max(least, min(_MIN, most)), min(most, max(_MAX, least))
    return random.integers(low, high, tensor.shape, tensor.dtype.numpy, endpoint=True)
