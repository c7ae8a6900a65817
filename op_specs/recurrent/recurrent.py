"""Recurrent layers, one time step after the other. `x`: the input projection of all steps."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spec_model.activations import RnnActivation

Array = NDArray[np.float64]
Lengths = NDArray[np.int64] | None

ACTIVATIONS: dict[int, Callable[[Array], Array]] = {
    RnnActivation.SIGMOID: lambda v: 1 / (1 + np.exp(-v)),
    RnnActivation.TANH: np.tanh,
    RnnActivation.RELU: lambda v: np.maximum(v, 0),
    RnnActivation.HARD_SIGMOID: lambda v: np.clip(0.2 * v + 0.5, 0, 1),
    RnnActivation.SOFTSIGN: lambda v: v / (1 + np.abs(v)),
    RnnActivation.SOFTPLUS: lambda v: np.logaddexp(0, v),
    RnnActivation.ELU: lambda v: np.where(v < 0, np.expm1(v), v),
    RnnActivation.LEAKY_RELU: lambda v: np.where(v < 0, 0.01 * v, v),
}


def _run(
    x: Array, units: int, lengths: Lengths, reverse: bool, states: list[Array | None],
    step: Callable[..., tuple[Array, ...]],
) -> tuple[Array, ...]:  # fmt: skip
    """The outputs of all steps and the final states. A step's output is its first state."""
    steps, batch = x.shape[:2]
    y = np.zeros((steps, batch, units))
    last = [np.zeros((batch, units)) if s is None else s.copy() for s in states]
    for b in range(batch):
        length = steps if lengths is None else int(np.clip(lengths[b], 1, steps))
        order = range(length)
        for t in reversed(order) if reverse else order:
            for state, value in zip(last, step(x[t, b], *(s[b] for s in last)), strict=True):
                state[b] = value
            y[t, b] = last[0][b]
    return y, *last


def _clip(v: Array, clip: float) -> Array:
    return np.clip(v, -clip, clip) if clip > 0 else v


def rnn(
    x: Array, weight: Array, bias: Array | None, h0: Array | None, lengths: Lengths,
    reverse: bool, clip: float, activation: int,
) -> tuple[Array, ...]:  # fmt: skip
    """h' = activation(x + W h + b)"""
    offset = 0.0 if bias is None else bias

    def step(row: Array, h: Array) -> tuple[Array, ...]:
        return (ACTIVATIONS[activation](_clip(row + weight @ h + offset, clip)),)

    return _run(x, weight.shape[1], lengths, reverse, [h0], step)


def gru(
    x: Array, weight: Array, bias: Array | None, h0: Array | None, lengths: Lengths,
    reverse: bool, clip: float, reset_first: bool, gate_activation: int, cell_activation: int,
) -> tuple[Array, ...]:  # fmt: skip
    """h' = (1 - z) n + z h"""
    gate, cell = ACTIVATIONS[gate_activation], ACTIVATIONS[cell_activation]
    w_r, w_z, w_n = np.split(weight, 3)
    b_r, b_z, b_n = np.split(np.zeros(len(weight)) if bias is None else bias, 3)

    def step(row: Array, h: Array) -> tuple[Array, ...]:
        x_r, x_z, x_n = np.split(row, 3)
        r = gate(_clip(x_r + w_r @ h + b_r, clip))
        z = gate(_clip(x_z + w_z @ h + b_z, clip))
        state_term = w_n @ (r * h) + b_n if reset_first else r * (w_n @ h + b_n)
        n = cell(_clip(x_n + state_term, clip))
        return ((1 - z) * n + z * h,)

    return _run(x, weight.shape[1], lengths, reverse, [h0], step)


def lstm(
    x: Array, weight: Array, bias: Array | None, h0: Array | None, lengths: Lengths,
    reverse: bool, clip: float, c0: Array | None, peephole: Array | None, coupled: bool,
    gate_activation: int, cell_activation: int, hidden_activation: int,
) -> tuple[Array, ...]:  # fmt: skip
    """c' = f c + i g, h' = o hidden(c')"""
    codes = (gate_activation, cell_activation, hidden_activation)
    gate, cell, hidden = (ACTIVATIONS[code] for code in codes)
    units = weight.shape[1]
    offset = 0.0 if bias is None else bias
    p_i, p_f, p_o = np.split(np.zeros(3 * units) if peephole is None else peephole, 3)

    def step(row: Array, h: Array, c: Array) -> tuple[Array, ...]:
        i, f, g, o = np.split(row + weight @ h + offset, 4)
        input_gate = gate(_clip(i + p_i * c, clip))
        forget_gate = 1 - input_gate if coupled else gate(_clip(f + p_f * c, clip))
        c = forget_gate * c + input_gate * cell(_clip(g, clip))
        return gate(_clip(o + p_o * c, clip)) * hidden(c), c

    return _run(x, units, lengths, reverse, [h0, c0], step)


def linear_recurrence(a: Array, b: Array, h0: Array | None, dim: int) -> Array:
    """h[t] = a[t] h[t - 1] + b[t]"""
    factors, terms = np.moveaxis(a, dim, 0), np.moveaxis(b, dim, 0)
    y = np.zeros(factors.shape)
    h = np.zeros(factors.shape[1:]) if h0 is None else h0
    for t, (factor, term) in enumerate(zip(factors, terms, strict=True)):
        h = y[t] = factor * h + term
    return y
