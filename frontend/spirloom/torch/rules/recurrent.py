"""aten.lstm, aten.gru and aten.rnn_*: stacked layers in PyTorch's layout of parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spec_model.activations import RnnActivation
from spirloom.builder import Value
from spirloom.errors import InTrainingMode
from spirloom.layers.recurrent import Cell, run_direction, stack_states
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import Results, imports
from spirloom.torch.values import Item

_CELLS = {
    "aten.lstm.input": (Cell.LSTM, {"gate_activation": RnnActivation.SIGMOID}),
    "aten.gru.input": (Cell.GRU, {"gate_activation": RnnActivation.SIGMOID}),
    "aten.rnn_tanh.input": (Cell.RNN, {"activation": RnnActivation.TANH}),
    "aten.rnn_relu.input": (Cell.RNN, {"activation": RnnActivation.RELU}),
}


@imports(*_CELLS)
def recurrent(ctx: CallContext) -> Item:
    """The stacked layers, each unidirectional or bidirectional."""
    if ctx.flag("train") and ctx.number("dropout", 0) > 0:
        raise InTrainingMode("generates random values")
    x = ctx.value("input")
    if ctx.flag("batch_first"):
        x = ctx.permute(x, (1, 0, 2))
    is_lstm = _CELLS[ctx.target][0] is Cell.LSTM
    states = ctx.values("hx") if is_lstm else [ctx.value("hx")]
    params = ctx.values("params")
    directions = 2 if ctx.flag("bidirectional") else 1
    projected = is_lstm and states[0].shape[-1] != states[1].shape[-1]
    params_per_direction = (4 if ctx.flag("has_biases") else 2) + projected
    final_states: list[Sequence[Value]] = []
    for layer in range(ctx.integer("num_layers")):
        layer_results = []
        for d in range(directions):
            index = layer * directions + d
            first = index * params_per_direction
            weights = params[first : first + params_per_direction]
            initial = [_state(ctx, state, index) for state in states]
            layer_results.append(_direction(ctx, x, weights, initial, projected, d == 1))
        x = ctx.cat([results[0] for results in layer_results], 2)
        final_states += [results[1:] for results in layer_results]
    y = ctx.permute(x, (1, 0, 2)) if ctx.flag("batch_first") else x
    return Results((y, *(stack_states(ctx, each) for each in zip(*final_states, strict=True))))


def _direction(
    ctx: CallContext, x: Value, weights: Sequence[Value], initial: Sequence[Value | None],
    projected: bool, reverse: bool,
) -> tuple[Value, ...]:  # fmt: skip
    """The outputs of all steps, and the final states."""
    cell, activation = _CELLS[ctx.target]
    weight, recurrent_weight, *biases = weights
    projection = biases.pop() if projected else None
    bias, recurrent_bias = biases or (None, None)
    gates = ctx.inner("aten.linear", x, weight, bias)
    h0, *c0 = initial
    args: dict[str, object] = {"bias": recurrent_bias, **activation}
    if c0:
        args["c0"] = c0[0]
    return run_direction(ctx, cell, gates, recurrent_weight, h0, args, reverse, projection)


def _state(ctx: CallContext, state: Value, index: int) -> Value | None:
    """The initial state of one direction; None for zeros."""
    if isinstance(state, np.ndarray):
        return state[index] if state.any() else None
    return ctx.inner("aten.select.int", state, dim=0, index=index)
