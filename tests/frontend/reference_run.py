"""Runs a graph with the operators' NumPy references in float64: the oracle of the front end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from spirloom.casegen.values import widened
from spirloom.ir import ArgValue, Array, Graph, Tensor
from spirloom.op_library import OWN_SPECS, OWN_TEMPLATES

from spec_model import load_library
from spec_model.stored_float import encoded, float_format

LIBRARY = load_library(OWN_SPECS, OWN_TEMPLATES)
OPS = LIBRARY.ops


def run(
    graph: Graph, inputs: Mapping[str, Array], states: dict[str, Array] | None = None
) -> dict[str, Array]:
    """The outputs by name. Every tensor is rounded to its dtype, as on a device."""
    states = {} if states is None else states
    values: dict[Tensor, Array] = {}
    for tensor in graph.inputs:
        assert inputs[tensor.name].shape == tensor.shape
        values[tensor] = inputs[tensor.name]
    for tensor in graph.tensors():
        if tensor.data is not None:
            values[tensor] = tensor.data
    for state in graph.states:
        name, initial = state.tensor.name, state.initial
        if initial is None:
            initial = np.zeros(state.tensor.shape, state.tensor.dtype.numpy)
        values[state.tensor] = states.get(name, initial)
    for node in graph.nodes:
        op = OPS[node.op]
        args = {a.name: _wide(v, values) for a, v in zip(op.args, node.args, strict=True)}
        with np.errstate(all="ignore"):
            results = op.reference(args)
        for tensor, result in zip(node.outputs, results, strict=True):
            assert result.shape == tensor.shape, f"{node.op}: {result.shape}, not {tensor.shape}"
            stored = float_format(tensor.dtype) is not None
            values[tensor] = (
                encoded(result, tensor.dtype) if stored else result.astype(tensor.dtype.numpy)
            )
    states.update({state.tensor.name: values[state.update] for state in graph.states})
    return {tensor.name: values[tensor] for tensor in graph.outputs}


def _wide(value: ArgValue, values: Mapping[Tensor, Array]) -> object:
    """An argument for references."""
    if isinstance(value, Tensor):
        return widened(values[value])
    if isinstance(value, tuple):
        return [_wide(v, values) if isinstance(v, Tensor) else v for v in value]
    return value
