"""RNN, GRU and LSTM: one GEMM for the inputs of all steps, then one operator per direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spec_model.activations import RnnActivation
from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import Results, imports
from spirloom.torch.values import Item


class _Cell(NamedTuple):
    op: str
    states: int
    options: dict[str, int]


_CELLS = {
    "aten.lstm.input": _Cell("spirloom.lstm_layer", 2, {"gate_activation": RnnActivation.SIGMOID}),
    "aten.gru.input": _Cell("spirloom.gru_layer", 1, {"gate_activation": RnnActivation.SIGMOID}),
    "aten.rnn_tanh.input": _Cell("spirloom.rnn_layer", 1, {"activation": RnnActivation.TANH}),
    "aten.rnn_relu.input": _Cell("spirloom.rnn_layer", 1, {"activation": RnnActivation.RELU}),
}


@imports(*_CELLS)
def recurrent(ctx: CallContext) -> Item:
    """The stacked layers, each unidirectional or bidirectional."""
    cell = _CELLS[ctx.target]
    if ctx.flag("train") and ctx.number("dropout", 0) > 0:
        raise Unsupported("it generates random values; call eval() on the module before exporting")
    x = ctx.value("input")
    if ctx.flag("batch_first"):
        x = ctx.permuted(x, (1, 0, 2))
    states = ctx.values("hx") if cell.states == 2 else [ctx.value("hx")]
    params = ctx.values("params")
    directions = 2 if ctx.flag("bidirectional") else 1
    projected = cell.states == 2 and states[0].shape[-1] != states[1].shape[-1]
    params_per_direction = (4 if ctx.flag("has_biases") else 2) + projected
    final_states: list[list[Value]] = []
    for layer in range(ctx.integer("num_layers")):
        layer_results = []
        for d in range(directions):
            index = layer * directions + d
            first = index * params_per_direction
            weights = params[first : first + params_per_direction]
            initial = [_state(ctx, state, index) for state in states]
            made = _projecting if projected else _direction
            layer_results.append(made(ctx, cell, x, weights, initial, d == 1))
        parts = tuple(results[0] for results in layer_results)
        x = parts[0] if len(parts) == 1 else ctx.inner("aten.cat", parts, dim=2)
        final_states += [results[1:] for results in layer_results]
    y = ctx.permuted(x, (1, 0, 2)) if ctx.flag("batch_first") else x
    stacked = [_stacked(ctx, [one[k] for one in final_states]) for k in range(cell.states)]
    return Results((y, *stacked))


def _direction(
    ctx: CallContext, cell: _Cell, x: Value, weights: Sequence[Value], initial: Sequence[Item],
    reverse: bool,
) -> list[Value]:  # fmt: skip
    """The outputs of all steps, and the final states."""
    w, r, *biases = weights
    input_bias, state_bias = biases or (None, None)
    inputs = ctx.inner("aten.linear", x, w, input_bias)
    return _steps(ctx, cell, inputs, r, state_bias, initial, reverse)


def _steps(
    ctx: CallContext, cell: _Cell, inputs: Value, weight: Value, bias: Item,
    initial: Sequence[Item], reverse: bool,
) -> list[Value]:  # fmt: skip
    """The same, with the input's part of the gates computed."""
    args = {"x": inputs, "weight": weight, "bias": bias, "h0": initial[0], "reverse": reverse}
    if cell.states == 2:
        args["c0"] = initial[1]
    return list(ctx.applier.apply(cell.op, {**args, **cell.options}, (), ()))


def _projecting(
    ctx: CallContext, cell: _Cell, x: Value, weights: Sequence[Value], initial: Sequence[Item],
    reverse: bool,
) -> list[Value]:  # fmt: skip
    """An LSTM with `proj_size`: an LSTM without, whose weight includes the projection of the
    previous step, and whose outputs are projected. The initial state, which is a projected one, is
    added to the first step's input."""
    w, r, *biases, projection = weights
    input_bias, state_bias = biases or (None, None)
    inputs = ctx.inner("aten.linear", x, w, input_bias)
    h0, c0 = initial
    if h0 is not None:
        first = ctx.reshaped(ctx.inner("aten.linear", h0, r), (1, *inputs.shape[1:]))
        inputs = _added_to_first_step(ctx, inputs, first, reverse)
    combined = ctx.inner("aten.mm", r, projection)
    y, h, c = _steps(ctx, cell, inputs, combined, state_bias, [None, c0], reverse)
    return [ctx.inner("aten.linear", y, projection), ctx.inner("aten.linear", h, projection), c]


def _added_to_first_step(ctx: CallContext, x: Value, addend: Value, reverse: bool) -> Value:
    steps = x.shape[0]
    at, rest = (steps - 1, (0, steps - 1)) if reverse else (0, (1, steps))
    sum_of_first = ctx.inner("aten.add.Tensor", ctx.sliced(x, 0, at, at + 1), addend)
    if steps == 1:
        return sum_of_first
    parts = [sum_of_first, ctx.sliced(x, 0, *rest)]
    return ctx.inner("aten.cat", tuple(reversed(parts) if reverse else parts), dim=0)


def _state(ctx: CallContext, state: Value, index: int) -> Item:
    """The initial state of one direction; None for zeros."""
    if isinstance(state, np.ndarray):
        return state[index] if state.any() else None
    return ctx.inner("aten.select.int", state, dim=0, index=index)


def _stacked(ctx: CallContext, states: Sequence[Value]) -> Value:
    parts = tuple(ctx.reshaped(state, (1, *state.shape)) for state in states)
    return parts[0] if len(parts) == 1 else ctx.inner("aten.cat", parts, dim=0)
