"""RNN, GRU and LSTM: weights of ONNX's gate order, with joined biases and a direction dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose

import numpy as np

from spec_model.activations import ACTIVATION_OF_ONNX
from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.layers.recurrent import Cell, run_direction, stack_states
from spirloom.onnx.context import NodeContext
from spirloom.onnx.registry import converts

_ALPHAS = {"HardSigmoid": 0.2, "Elu": 1.0, "LeakyRelu": 0.01}
_BETAS = {"HardSigmoid": 0.5}

_DIRECTIONS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}


@dataclass(frozen=True, slots=True)
class _Layout:
    """A cell's gate order in ONNX, and the activation arguments of its operator."""

    cell: Cell
    gates: tuple[int, ...]  # the index in ONNX of each of PyTorch's gates
    activations: dict[str, str]  # argument → default


@converts("RNN")
def rnn(ctx: NodeContext) -> list[Tensor]:
    layout = _Layout(Cell.RNN, (0,), {"activation": "Tanh"})
    return _layer(ctx, layout, [{} for _ in _reversals(ctx)], [ctx.tensor(1), ctx.tensor(2)])


@converts("GRU")
def gru(ctx: NodeContext) -> list[Tensor]:
    layout = _Layout(Cell.GRU, (1, 0, 2), {"gate_activation": "Sigmoid", "cell_activation": "Tanh"})
    reset_first = not ctx.integer("linear_before_reset", 0)
    own: list[dict[str, object]] = [{"reset_first": reset_first} for _ in _reversals(ctx)]
    return _layer(ctx, layout, own, [ctx.tensor(1), ctx.tensor(2)])


@converts("com.microsoft.DynamicQuantizeLSTM")
def dynamic_quantize_lstm(ctx: NodeContext) -> list[Tensor]:
    """With 8-bit weights and float activations, which are not quantized at each step: more exact
    than the operator, within its quantization error.
    """
    return _lstm(ctx, [_dequantized(ctx, 1, 8), _dequantized(ctx, 2, 10)])


def _dequantized(ctx: NodeContext, index: int, scale_index: int) -> Tensor:
    """The weight [direction, column, row] as floats [direction, row, column]."""
    weight, scale = ctx.constant(index), ctx.constant(scale_index)
    if weight is None or scale is None or weight.ndim != 3 or scale.ndim not in (1, 2):
        raise Unsupported("its weights and scales must be constants, as its shapes state")
    zero = ctx.constant(scale_index + 1)
    shape = [*scale.shape, *[1] * (2 - scale.ndim)]
    scale = scale.reshape(shape)[:, None]
    zero = np.zeros_like(scale) if zero is None else zero.reshape(shape)[:, None]
    ctx.check_size(weight.shape, np.dtype(np.float32).itemsize)
    floats = (weight.astype(np.float32) - zero.astype(np.float32)) * scale.astype(np.float32)
    return ctx.build.constant(np.ascontiguousarray(floats.transpose(0, 2, 1)))


@converts("LSTM")
def lstm(ctx: NodeContext) -> list[Tensor]:
    return _lstm(ctx, [ctx.tensor(1), ctx.tensor(2)])


def _lstm(ctx: NodeContext, weights: Sequence[Tensor]) -> list[Tensor]:
    activations = {"gate_activation": "Sigmoid"}
    activations |= {"cell_activation": "Tanh", "hidden_activation": "Tanh"}
    cells, peepholes = _initial(ctx, 6), ctx.optional_tensor(7)
    coupled = bool(ctx.integer("input_forget", 0))
    own: list[dict[str, object]] = [
        {
            "c0": None if cells is None else _direction(ctx, cells, d),
            "peephole": None
            if peepholes is None
            else _reordered(ctx, _direction(ctx, peepholes, d), (0, 2, 1)),
            "coupled": coupled,
        }
        for d in range(len(_reversals(ctx)))
    ]
    return _layer(ctx, _Layout(Cell.LSTM, (0, 2, 3, 1), activations), own, weights)


def _layer(
    ctx: NodeContext,
    layout: _Layout,
    own: Sequence[dict[str, object]],
    weights: Sequence[Tensor],
) -> list[Tensor]:
    """The node's outputs. `own` are the cell-specific arguments of each direction, `weights` those
    of inputs and state.
    """
    x = ctx.build.permute(ctx.tensor(0), [1, 0, 2]) if _batch_first(ctx) else ctx.tensor(0)
    if any(len(t.shape) != 3 or t.shape[0] != len(own) for t in weights) or len(x.shape) != 3:
        raise Unsupported(f"its input {x} and weights {weights[0]} and {weights[1]} do not match")
    units = weights[1].shape[2]
    if ctx.integer("hidden_size", units) != units:
        raise Unsupported(f"its hidden_size is not {units}, the size in its weight {weights[1]}")
    biases, states, lengths = ctx.optional_tensor(3), _initial(ctx, 5), _lengths(ctx, x.shape[0])
    results = []
    for d, reverse in enumerate(_reversals(ctx)):
        w, r = (_reordered(ctx, _direction(ctx, t, d), layout.gates) for t in weights)
        of_input, of_state = (None, None) if biases is None else _biases(ctx, biases, d, layout)
        gates = ctx.build.emit("aten.linear", x=x, weight=w, bias=of_input)
        h0 = None if states is None else _direction(ctx, states, d)
        args = _activations(ctx, layout, d) | own[d]
        args |= {"bias": of_state, "lengths": lengths, "clip": ctx.number("clip", 0.0)}
        results.append(run_direction(ctx.build, layout.cell, gates, r, h0, args, reverse))
    y, *last = zip(*results, strict=True)
    return [_outputs(ctx, y), *(_states(ctx, state) for state in last)]


def _reversals(ctx: NodeContext) -> list[bool]:
    """For each direction of the node, whether it is reversed."""
    direction = ctx.text("direction", "forward").lower()
    if direction not in _DIRECTIONS:
        raise Unsupported(f"its direction '{direction}' is unknown")
    return _DIRECTIONS[direction]


def _batch_first(ctx: NodeContext) -> bool:
    return bool(ctx.integer("layout", 0))


def _direction(ctx: NodeContext, x: Tensor, d: int) -> Tensor:
    """The slice of one direction."""
    return ctx.build.view(ctx.build.slice(x, 0, d, d + 1), x.shape[1:])


def _reordered(ctx: NodeContext, x: Tensor, order: Sequence[int]) -> Tensor:
    """Permutes equal blocks of the first dimension."""
    if list(order) == list(range(len(order))):
        return x
    if not x.shape:
        raise Unsupported(f"its operand {x} does not consist of {len(order)} gates")
    size = x.shape[0] // len(order)
    return ctx.build.cat([ctx.build.slice(x, 0, k * size, (k + 1) * size) for k in order], 0)


def _biases(ctx: NodeContext, biases: Tensor, d: int, layout: _Layout) -> tuple[Tensor, Tensor]:
    """The input bias and the recurrent bias."""
    if len(biases.shape) != 2:
        raise Unsupported(f"its biases {biases} must have one row per direction")
    both = _direction(ctx, biases, d)
    half = both.shape[0] // 2
    of_input, of_state = (ctx.build.slice(both, 0, k * half, (k + 1) * half) for k in range(2))
    return _reordered(ctx, of_input, layout.gates), _reordered(ctx, of_state, layout.gates)


def _initial(ctx: NodeContext, index: int) -> Tensor | None:
    """The initial state [direction, batch, unit]. None for zeros."""
    state = ctx.optional_tensor(index)
    if state is None or (state.data is not None and not state.data.any()):
        return None
    return ctx.build.permute(state, [1, 0, 2]) if _batch_first(ctx) else state


def _lengths(ctx: NodeContext, steps: int) -> Tensor | None:
    """The sequence lengths. None if all are complete."""
    lengths = ctx.optional_tensor(4)
    if lengths is None or (lengths.data is not None and (lengths.data == steps).all()):
        return None
    return lengths


def _activations(ctx: NodeContext, layout: _Layout, d: int) -> dict[str, object]:
    given = ctx.texts("activations") or list(layout.activations.values()) * len(_reversals(ctx))
    for parameter, defaults in (("alpha", _ALPHAS), ("beta", _BETAS)):
        expected = [defaults[name] for name in given if name in defaults]
        values = ctx.floats(f"activation_{parameter}") or expected
        if len(values) != len(expected) or not all(map(_close, values, expected)):
            raise Unsupported(f"its activation_{parameter} {values} is not the default {expected}")
    own = given[d * len(layout.activations) : (d + 1) * len(layout.activations)]
    unknown = [name for name in own if name not in ACTIVATION_OF_ONNX]
    if unknown or len(own) != len(layout.activations):
        raise Unsupported(f"its activations {given} are not supported")
    return dict(zip(layout.activations, (ACTIVATION_OF_ONNX[name] for name in own), strict=True))


def _close(a: float, b: float) -> bool:
    return isclose(a, b, rel_tol=1e-6)


def _outputs(ctx: NodeContext, directions: Sequence[Tensor]) -> Tensor:
    """[step, direction, batch, unit], or batch first, as in the node."""
    steps, batch, units = directions[0].shape
    parts = [ctx.build.view(y, [steps, 1, batch, units]) for y in directions]
    y = ctx.build.cat(parts, 1)
    return ctx.build.permute(y, [2, 0, 1, 3]) if _batch_first(ctx) else y


def _states(ctx: NodeContext, directions: Sequence[Tensor]) -> Tensor:
    """[direction, batch, unit], or batch first, as in the node."""
    y = stack_states(ctx.build, directions)
    return ctx.build.permute(y, [1, 0, 2]) if _batch_first(ctx) else y
