"""RNN, GRU and LSTM: one product for the input of all steps, then an operator per direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import Several, imports
from spirloom.torch.values import Item

# The numbers of lib/squash.glsl.j2.
_SIGMOID, _TANH, _RELU = 0, 1, 2


class _Cell(NamedTuple):
    op: str
    states: int
    options: dict[str, int]


_CELLS = {
    "aten.lstm.input": _Cell("spirloom.lstm_layer", 2, {"gate_activation": _SIGMOID}),
    "aten.gru.input": _Cell("spirloom.gru_layer", 1, {"gate_activation": _SIGMOID}),
    "aten.rnn_tanh.input": _Cell("spirloom.rnn_layer", 1, {"activation": _TANH}),
    "aten.rnn_relu.input": _Cell("spirloom.rnn_layer", 1, {"activation": _RELU}),
}


@imports(*_CELLS)
def recurrent(ctx: CallContext) -> Item:
    """The layers one after the other, each in one direction or in both."""
    cell = _CELLS[ctx.target]
    if ctx.flag("train") and ctx.number("dropout", 0) > 0:
        raise Unsupported("it draws random numbers: call eval() on the module before exporting it")
    x = ctx.value("input")
    if ctx.flag("batch_first"):
        x = ctx.permuted(x, (1, 0, 2))
    states = ctx.values("hx") if cell.states == 2 else [ctx.value("hx")]
    params = ctx.values("params")
    directions = 2 if ctx.flag("bidirectional") else 1
    each = 4 if ctx.flag("has_biases") else 2
    last: list[list[Value]] = []
    for layer in range(ctx.integer("num_layers")):
        found = []
        for d in range(directions):
            place = layer * directions + d
            own = params[place * each : (place + 1) * each]
            begin = [_state(ctx, state, place) for state in states]
            found.append(_direction(ctx, cell, x, own, begin, d == 1))
        parts = tuple(results[0] for results in found)
        x = parts[0] if len(parts) == 1 else ctx.inner("aten.cat", parts, dim=2)
        last += [results[1:] for results in found]
    y = ctx.permuted(x, (1, 0, 2)) if ctx.flag("batch_first") else x
    ends = [_stacked(ctx, [one[k] for one in last]) for k in range(cell.states)]
    return Several((y, *ends))


def _direction(
    ctx: CallContext, cell: _Cell, x: Value, own: Sequence[Value], begin: Sequence[Item],
    reverse: bool,
) -> list[Value]:  # fmt: skip
    """All steps' results, and the last states."""
    w, r, *biases = own
    of_input, of_state = biases or (None, None)
    given = ctx.inner("aten.linear", x, w, of_input)
    args = {"x": given, "weight": r, "bias": of_state, "h0": begin[0], "reverse": reverse}
    if cell.states == 2:
        args["c0"] = begin[1]
    return list(ctx.applier.apply(cell.op, {**args, **cell.options}, (), ()))


def _state(ctx: CallContext, state: Value, place: int) -> Item:
    """What one direction begins with; None for zeros."""
    if isinstance(state, np.ndarray):
        return state[place] if state.any() else None
    return ctx.inner("aten.select.int", state, dim=0, index=place)


def _stacked(ctx: CallContext, states: Sequence[Value]) -> Value:
    parts = tuple(ctx.reshaped(state, (1, *state.shape)) for state in states)
    return parts[0] if len(parts) == 1 else ctx.inner("aten.cat", parts, dim=0)
